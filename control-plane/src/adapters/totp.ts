import { generateSecret, generateURI, verify } from 'otplib'
import type { Clock } from './clock.ts'

/** Time-based one-time passwords (RFC 6238): SHA-1, six digits, 30 s, what every authenticator app understands. */
export interface Totp {
  /** 160 random bits, base32. */
  secret(): string
  /** `otpauth://` for the app, as text or QR code. */
  uri(secret: string, account: string): string
  /**
   * The time step that a code belongs to, or undefined when it is wrong. A step is accepted once (RFC 6238 §5.2): whoever asks
   * stores it, and refuses steps at or below the one stored.
   */
  stepOf(secret: string, code: string): Promise<number | undefined>
}

const issuer = 'svc'
/** Seconds: the code before this one still counts (typing takes time); ahead, only a small difference of clocks. */
const tolerance: [past: number, future: number] = [30, 5]
/** RFC 4226 §4 R6 recommends 160 bits. */
const secretBytes = 20

export const totpOf = (clock: Clock): Totp => ({
  secret: () => generateSecret({ length: secretBytes }),
  uri: (secret, account) => generateURI({ issuer, label: account, secret }),
  async stepOf(secret, code) {
    if (!/^\d{6}$/.test(code)) return undefined
    const epoch = Math.floor(clock.now().getTime() / 1_000)
    const result = await verify({ secret, token: code, epoch, epochTolerance: tolerance })
    return result.valid && 'timeStep' in result ? result.timeStep : undefined
  },
})
