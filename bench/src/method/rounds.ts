import type { Ground, Peer, Round } from './contract.ts'
import { load, noiseOf, watchOthers } from './load.ts'
import { unpinnable } from './pin.ts'

/** Keeps what a bench sees, and notes beside each round what may have disturbed it. */
export class Rounds {
  readonly rounds: Round[] = []
  readonly peers: Peer[] = []
  readonly #loadAtStart = load()
  readonly #others = watchOthers()
  #loadBefore = this.#loadAtStart

  readonly saw: Ground['saw'] = (side, round, seen, clientBusy) => {
    for (const [name, value] of Object.entries(seen))
      if (!Number.isFinite(value)) throw new Error(`${side}: ${name} is ${value}`)
    const noisy = noiseOf({ loadAtStart: this.#loadAtStart, clientBusy, others: this.#others() })
    const loadBefore = this.#loadBefore
    this.rounds.push({ side, round, at: new Date().toISOString(), seen, loadBefore, clientBusy, noisy })
    this.#loadBefore = load()
  }

  readonly peer: Ground['peer'] = (peer) => {
    const known = this.peers.findIndex(({ name }) => name === peer.name)
    if (known < 0) this.peers.push(peer)
    else this.peers[known] = peer
  }

  /** Each reason once, with the worst of what was seen and in how many rounds. */
  noisy(): string[] {
    const everywhere = unpinnable()
    const reasons = new Map<string, string[]>()
    for (const reason of this.rounds.flatMap(({ noisy }) => noisy)) {
      const [kind = reason] = reason.split(' (')
      reasons.set(kind, [...(reasons.get(kind) ?? []), reason])
    }
    const inOrder = new Intl.Collator('en', { numeric: true }).compare
    const told = [...reasons.values()].map(
      (all) => `${all.toSorted(inOrder).at(-1)}, in ${all.length} of ${this.rounds.length} rounds`,
    )
    return [...(everywhere ? [everywhere] : []), ...told]
  }
}
