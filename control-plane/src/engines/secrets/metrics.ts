import { Counter, type Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { askedGauges } from '../../kernel/gauges.ts'
import type { Keyring } from './keyring.ts'
import { standing } from './rotation.ts'

/** Counts values that did not open: none ever should. */
export function unreadableMetric(registry: Registry, ring: Keyring): void {
  const told = new Map<string, number>()
  new Counter({
    name: 'svc_secrets_unreadable_total',
    help: 'Sealed values that did not open: moved, changed, or under a key that is not in KEYS_DIR',
    labelNames: ['place'],
    registers: [registry],
    collect() {
      for (const [place, n] of ring.unreadable) {
        this.inc({ place }, n - (told.get(place) ?? 0))
        told.set(place, n)
      }
    },
  })
}

/** How far a rotation is; all 0 when there is none. NaN where the database does not answer. */
export function rotationMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: {
      svc_master_keys_retiring: 'Master keys that do not seal any more and have not gone.',
      svc_values_under_retiring_key: 'Sealed values that are under a master key that retires.',
    },
    ask: async () => {
      const retiring = (await standing(db)).keys.filter(({ state }) => state === 'retiring')
      const left = retiring.flatMap(({ sealed }) => Object.values(sealed))
      return {
        svc_master_keys_retiring: retiring.length,
        svc_values_under_retiring_key: left.reduce((sum, n) => sum + n, 0),
      }
    },
    failed: (error) => log.warn({ err: error }, 'it could not be asked how far a rotation of keys is'),
  })
}
