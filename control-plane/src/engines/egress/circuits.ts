import { LRUCache } from 'lru-cache'
import { EgressError } from '../../adapters/egress.ts'

interface Circuit {
  /** in a row */
  failures: number
  /** nobody is let through before; 0: it is closed */
  until: number
  /** one is on its way to see whether it works again */
  tried: boolean
}

/** What a call says of its endpoint: it answers, it does not, or nothing can be said. */
export type Verdict = 'good' | 'bad' | 'neither'

export interface Patience {
  /** in a row until it opens */
  failures: number
  /** how long it is open at first; twice as long each time that it fails again */
  pauseMs: number
  longestPauseMs: number
  now: () => number
}

/** So many endpoints are remembered; of those asked least lately it is forgotten that they failed. */
const remembered = 10_000

/** Circuit breakers by name: closed, open for a while, half-open for one call that decides. */
export class Circuits {
  readonly #circuits = new LRUCache<string, Circuit>({ max: remembered })
  readonly #patience: Patience

  constructor(patience: Patience) {
    this.#patience = patience
  }

  /** @throws EgressError CIRCUIT_OPEN, without that `work` was begun; else what `work` throws */
  async run<T>(name: string, judge: (error: unknown) => Verdict, work: () => Promise<T>): Promise<T> {
    this.#enter(name)
    try {
      const result = await work()
      this.#learn(name, 'good')
      return result
    } catch (error) {
      this.#learn(name, judge(error))
      throw error
    }
  }

  #enter(name: string): void {
    const circuit = this.#circuits.get(name)
    if (!circuit || circuit.until === 0) return
    if (circuit.tried || this.#patience.now() < circuit.until)
      throw new EgressError(
        'CIRCUIT_OPEN',
        'the address failed several times in a row and is left alone for a while',
      )
    circuit.tried = true
  }

  #learn(name: string, verdict: Verdict): void {
    if (verdict === 'good') {
      this.#circuits.delete(name)
      return
    }
    const circuit = this.#circuits.get(name) ?? { failures: 0, until: 0, tried: false }
    circuit.tried = false
    if (verdict === 'neither') return
    const { failures, pauseMs, longestPauseMs, now } = this.#patience
    circuit.failures++
    if (circuit.failures >= failures)
      circuit.until = now() + Math.min(pauseMs * 2 ** (circuit.failures - failures), longestPauseMs)
    this.#circuits.set(name, circuit)
  }
}
