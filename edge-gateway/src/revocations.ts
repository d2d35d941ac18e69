import { closeLabel, type svc } from '@svc/proto'
import type { SecurityLog } from '@svc/proto/log'
import type { Claims } from './claims/claims.ts'
import { reasonOf } from './downlink.ts'
import type { Counters } from './ops/counters.ts'
import type { Registry } from './session/registry.ts'
import type { Ground } from './wiring/ground.ts'

export type CarryOut = Revocations['carryOut']

/** Carries out what the control plane says of dead credentials, whichever way the word came. */
export class Revocations {
  readonly #claims: Claims
  readonly #registry: Registry
  readonly #counters: Counters
  readonly #security: SecurityLog
  readonly #withinMs: number
  readonly #nowMs: () => number

  /** @param nowMs the server's time */
  constructor(
    claims: Claims,
    { registry, counters, security, limits }: Pick<Ground, 'registry' | 'counters' | 'security' | 'limits'>,
    nowMs: () => number,
  ) {
    this.#claims = claims
    this.#registry = registry
    this.#counters = counters
    this.#security = security
    this.#withinMs = limits.revokeWithinMs
    this.#nowMs = nowMs
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
    for (const { deviceId, credentialVersion, reason, atMs } of revocations) {
      const session = this.#registry.residents.get(deviceId ?? '')
      if (!session || session.credentialVersion > (credentialVersion ?? 0)) continue
      this.#counters.revocations++
      if (atMs && this.#nowMs() - atMs > this.#withinMs) this.#counters.lateRevocations++
      const why = reason ? reasonOf(reason) : 'CREDENTIAL_REVOKED'
      this.#security('device.revoked', 'a connection is cut: its credential is dead', {
        deviceId: session.deviceId,
        reason: closeLabel(why),
      })
      session.close(why)
    }
  }
}
