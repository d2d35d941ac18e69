import { randomBytes } from 'node:crypto'
import { deviceKey, type KeyProof, makeDeviceToken, proofText, signProof, tokenHash } from '@svc/proto'

/** What a device proves itself with. The next token was made here and may be known to the server or not; one before the present is kept. */
export interface Tokens {
  deviceToken: string
  nextToken?: string
  previousToken?: string
}

export interface CredentialOptions extends Tokens {
  deviceId: string
  /** 32 bytes in base64 (RFC 8032 §5.1.5), where the device enrolled with a key */
  deviceKey?: string | undefined
  /** Keeps them, whole or not at all; rejects where it cannot. */
  keep: (tokens: Tokens) => Promise<void>
  /** ms since 1970, as this host has it */
  now: () => number
}

type Which = keyof Tokens

/** Makes a key for a device that is about to enroll: what it keeps, and what it tells; both base64. */
export function newDeviceKey(): { deviceKey: string; publicKey: string } {
  const seed = randomBytes(32)
  return { deviceKey: seed.toString('base64'), publicKey: deviceKey(seed).publicKey.toString('base64') }
}

/**
 * The tokens of one device over their whole life. Each is on disk before anybody hears of it, and none is forgotten before the one
 * after it has opened a connection: wherever either side stops, one of those that are kept is good.
 *
 * The order in which they are tried is what keeps a device from being taken for a copy of itself: the present one is never shown once
 * the next one may have been used, and the previous one only where the server knows the present one no more, because its database
 * went back to an earlier moment.
 */
export class Credential {
  readonly #options: CredentialOptions
  readonly #key: ReturnType<typeof deviceKey> | undefined
  #tokens: Tokens
  #which: Which
  #provenUs = 0
  /** how much the server's clock is ahead of this host's, ms */
  offsetMs = 0

  constructor(options: CredentialOptions) {
    const { deviceToken, nextToken, previousToken } = options
    this.#options = options
    this.#tokens = { deviceToken, ...(nextToken && { nextToken }), ...(previousToken && { previousToken }) }
    // Whether it was used before this process began is not known: if it was, the present one is dead.
    this.#which = nextToken ? 'nextToken' : 'deviceToken'
    this.#key = options.deviceKey ? deviceKey(Buffer.from(options.deviceKey, 'base64')) : undefined
  }

  get tokens(): Readonly<Tokens> {
    return this.#tokens
  }

  /** Of the connection that is being made. */
  get token(): string {
    return this.#tokens[this.#which] ?? this.#tokens.deviceToken
  }

  /** That the device holds its key, for one connection; undefined where it has none. */
  proof(): KeyProof | undefined {
    if (!this.#key) return undefined
    this.#provenUs = Math.max(this.#provenUs + 1, Math.round((this.#options.now() + this.offsetMs) * 1000))
    const { deviceId } = this.#options
    return signProof({ deviceId, tokenSha256: tokenHash(this.token), atUs: this.#provenUs }, this.#key.key)
  }

  /** As a password of MQTT: the token, and the proof behind a dot. */
  password(): string {
    const proof = this.proof()
    return proof ? `${this.token}.${proofText(proof)}` : this.token
  }

  /** The server does not know the token that was tried. False where there is no other: the device is out. */
  refused(): boolean {
    const { previousToken } = this.#tokens
    if (this.#which === 'nextToken') this.#which = 'deviceToken'
    else if (this.#which === 'deviceToken' && previousToken) this.#which = 'previousToken'
    else return false
    return true
  }

  /** The token that was tried has opened a connection: those before it are dead. Rejects where that cannot be kept; it is so all the same. */
  async admitted(): Promise<void> {
    const { deviceToken, nextToken } = this.#tokens
    const which = this.#which
    this.#which = 'deviceToken'
    if (which === 'nextToken' && nextToken)
      await this.#keep({ deviceToken: nextToken, previousToken: deviceToken })
    else if (which === 'previousToken')
      await this.#keep({ deviceToken: this.#tokens.previousToken ?? deviceToken })
  }

  /** The SHA-256 of the next token, which is made and kept now where there was none. Rejects where it cannot be kept: nobody may hear of it. */
  async propose(): Promise<Uint8Array> {
    const nextToken = this.#tokens.nextToken ?? makeDeviceToken(this.#options.deviceId)
    if (!this.#tokens.nextToken) {
      await this.#options.keep({ ...this.#tokens, nextToken })
      this.#tokens = { ...this.#tokens, nextToken }
    }
    return tokenHash(nextToken)
  }

  /** The server has noted a next token. True where it is this one: the next connection uses it. */
  staged(tokenSha256: Uint8Array): boolean {
    const { nextToken } = this.#tokens
    if (!nextToken || !tokenHash(nextToken).equals(tokenSha256)) return false
    this.#which = 'nextToken'
    return true
  }

  async #keep(tokens: Tokens): Promise<void> {
    this.#tokens = tokens
    await this.#options.keep(tokens)
  }
}
