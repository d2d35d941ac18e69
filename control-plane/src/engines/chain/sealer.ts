import { type HeadsLog, type TellDeps, tellHeads } from './heads.ts'
import { sealSome } from './rows.ts'

export interface SealerDeps extends TellDeps {
  log: HeadsLog & { error(details: object, message: string): void }
  /** between two looks, in milliseconds */
  everyMs: number
}

/** Rows per transaction. */
const batch = 2_000

/** Seals all that waits, and tells where its chains end. */
export async function sealAll(deps: TellDeps): Promise<void> {
  while ((await deps.db.tx((tx) => sealSome(tx, batch))) === batch);
  await tellHeads(deps)
}

/**
 * Seals the audit log. Any number of workers do, without a lease: the database lets one at a time lead a chain, and nothing waits for
 * one that died. A look at nothing is two short statements.
 */
export class Sealer {
  readonly #deps: SealerDeps
  #timer: NodeJS.Timeout | undefined
  #sealing: Promise<void> = Promise.resolve()
  #closed = false

  constructor(deps: SealerDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#next()
  }

  /** Idempotent. Waits for what is in hand; what came last is sealed by others, or with the next start. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#sealing
  }

  #next(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.#sealing = this.#seal().finally(() => this.#next())
    }, this.#deps.everyMs)
  }

  async #seal(): Promise<void> {
    try {
      await sealAll(this.#deps)
    } catch (error) {
      this.#deps.log.error({ err: error }, 'the audit log was not sealed; trying again')
    }
  }
}
