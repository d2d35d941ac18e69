import type { Clock, Random, Timer } from '../clock.ts'
import type { UpBody } from '../connection/link.ts'
import type { Credential } from './credential.ts'

/** Devices that were enrolled together do not renew together. */
const spreadMs = 60_000
/** What was not answered is said again: first after this, and then at longer intervals. */
const againMs = 30_000
const maxAgainMs = 3_600_000

export interface RenewalOptions {
  credential: Credential
  clock: Clock
  random: Random
  /** false: not now */
  send: (body: UpBody) => boolean
  /** Connects anew, with the next token. */
  reconnect: () => void
  trouble: (text: string) => void
}

/** Renews a device's token when it is due: makes the next one, has it noted, and connects with it. */
export class Renewal {
  readonly #options: RenewalOptions
  #timer: Timer | undefined

  constructor(options: RenewalOptions) {
    this.#options = options
  }

  /** @param inMs when the present token is due, by the server; 0: it does not say */
  connected(inMs: number): void {
    const { credential, random } = this.#options
    credential.admitted().catch((error: unknown) => this.#failed(error))
    if (inMs > 0) this.#after(inMs + random() * Math.min(spreadMs, inMs))
  }

  disconnected(): void {
    this.#timer?.cancel()
  }

  staged(tokenSha256: Uint8Array): void {
    if (!this.#options.credential.staged(tokenSha256)) return
    this.#timer?.cancel()
    this.#options.reconnect()
  }

  #after(ms: number, attempt = 0): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.after(ms, () => void this.#propose(attempt))
  }

  async #propose(attempt: number): Promise<void> {
    const { credential, send } = this.#options
    this.#after(Math.min(maxAgainMs, againMs * 2 ** attempt), attempt + 1)
    try {
      const tokenSha256 = await credential.propose()
      send({ credentialProposal: { tokenSha256 } })
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    this.#options.trouble(`the device's tokens are not kept: ${String(error)}`)
  }
}
