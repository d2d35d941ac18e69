import type { svc } from '@svc/proto'
import type { Claims } from './claims/claims.ts'
import { reasonOf } from './downlink.ts'
import type { Counters } from './ops/counters.ts'
import type { Registry } from './session/registry.ts'

/** Carries out what the control plane says of dead credentials, whichever way the word came. */
export class Revocations {
  readonly #claims: Claims
  readonly #registry: Registry
  readonly #counters: Counters

  constructor(claims: Claims, registry: Registry, counters: Counters) {
    this.#claims = claims
    this.#registry = registry
    this.#counters = counters
  }

  /**
   * Whoever is in with such a credential is cut at once, since a store that hangs takes seconds to tell; then nobody comes in with
   * it, and who did meanwhile is cut too.
   */
  async carryOut(revocations: readonly svc.v1.IRevocation[]): Promise<void> {
    if (revocations.length === 0) return
    this.#cut(revocations)
    await this.#claims.revoke(revocations)
    this.#cut(revocations)
  }

  #cut(revocations: readonly svc.v1.IRevocation[]): void {
    for (const { deviceId, credentialVersion, reason } of revocations) {
      const session = this.#registry.residents.get(deviceId ?? '')
      if (!session || session.credentialVersion > (credentialVersion ?? 0)) continue
      this.#counters.revocations++
      session.close(reason ? reasonOf(reason) : 'CREDENTIAL_REVOKED')
    }
  }
}
