import { setImmediate as nextTurn } from 'node:timers/promises'
import type { svc } from '@svc/proto'
import { type Admission, type AdmitRequest, type Claim, type Claims, ClaimsDown } from './claims.ts'
import type { MemoryClaims } from './memory.ts'

/**
 * The shared claims, or while those are away what this node remembers: loss of Redis locks nobody out (promise P6).
 *
 * A store that comes back may be empty, or hold profiles whose credentials died meanwhile. So it counts again only after
 * {@link recover} has told it what is dead.
 */
export class FallbackClaims implements Claims {
  readonly #shared: Claims
  readonly #local: MemoryClaims
  readonly #onLocal: () => void
  /** by device: what was given back and is not known to be there */
  readonly #unreleased = new Map<string, Claim>()
  #sound = false

  constructor(shared: Claims, local: MemoryClaims, onLocal: () => void) {
    this.#shared = shared
    this.#local = local
    this.#onLocal = onLocal
  }

  /** The carrier went away. */
  lost(): void {
    this.#sound = false
  }

  /**
   * The carrier is back: tells it what died and who is connected here, then counts on it again. What happens meanwhile is told too:
   * what died, before the store is asked anything; who was let in, afterwards.
   *
   * @param held the claims of everybody who is connected here now
   * @returns those of them that somebody else holds by now
   */
  async recover(held: () => Claim[]): Promise<Claim[]> {
    const dead = news(
      ({ deviceId, credentialVersion, life }: svc.v1.IRevocation) =>
        `${deviceId} ${credentialVersion} ${life}`,
    )
    const here = news(({ deviceId, epoch }: Claim) => `${deviceId} ${epoch}`)
    await this.#shared.revoke(dead(this.#local.revocations()))
    const lost = await this.#shared.hold(here(held()))
    for (;;) {
      const more = dead(this.#local.revocations())
      if (more.length === 0) break
      await this.#shared.revoke(more)
    }
    this.#sound = true
    this.#local.shrink()
    // Whoever was let in by what this node remembers is among those who are here by the next turn.
    await nextTurn()
    const late = await this.hold(here(held()))
    await this.release([])
    return [...lost, ...late]
  }

  async admit(request: AdmitRequest): Promise<Admission> {
    const shared = await this.#try(() => this.#shared.admit(request))
    if (shared) return shared
    const local = await this.#local.admit(request)
    if (local.kind === 'admitted') this.#onLocal()
    return local
  }

  async remember(profiles: readonly svc.v1.IDeviceProfile[]): Promise<void> {
    const done = await this.#try(() => this.#shared.remember(profiles).then(() => true))
    if (!done) await this.#local.remember(profiles)
  }

  async revoke(revocations: readonly svc.v1.IRevocation[]): Promise<void> {
    await this.#local.revoke(revocations)
    await this.#try(() => this.#shared.revoke(revocations))
  }

  async release(claims: readonly Claim[]): Promise<void> {
    await this.#local.release(claims)
    // One that stays behind turns out nobody, as whoever comes next takes it over; but it is not true.
    for (const claim of claims) this.#unreleased.set(claim.deviceId, claim)
    const all = [...this.#unreleased.values()]
    const done = all.length > 0 && (await this.#try(() => this.#shared.release(all).then(() => true)))
    if (!done) return
    for (const claim of all)
      if (this.#unreleased.get(claim.deviceId) === claim) this.#unreleased.delete(claim.deviceId)
  }

  async hold(claims: readonly Claim[]): Promise<Claim[]> {
    return (await this.#try(() => this.#shared.hold(claims))) ?? this.#local.hold(claims)
  }

  /** Whether the shared store is in use. */
  get sound(): boolean {
    return this.#sound
  }

  async close(): Promise<void> {
    await Promise.all([this.#shared.close(), this.#local.close()])
  }

  /**
   * What was not done there must come before the next question: a store that answers reads and refuses writes, as one that is full
   * does, would know neither a device that was let in nor one that was cut.
   */
  async #try<T>(ask: () => Promise<T>): Promise<T | undefined> {
    if (!this.#sound) return undefined
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ClaimsDown)) throw error
      this.#sound = false
      return undefined
    }
  }
}

/** Of each list what no list had before. */
function news<T>(key: (one: T) => string): (all: readonly T[]) => T[] {
  const seen = new Set<string>()
  return (all) => all.filter((one) => seen.size < seen.add(key(one)).size)
}
