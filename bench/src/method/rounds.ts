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

  /** Each reason once, with how many rounds it is about. */
  noisy(): string[] {
    const everywhere = unpinnable()
    const reasons = new Map<string, Round[]>()
    for (const round of this.rounds)
      for (const reason of round.noisy) reasons.set(reason, [...(reasons.get(reason) ?? []), round])
    const told = [...reasons].map(([reason, of]) =>
      of.length === this.rounds.length
        ? reason
        : `${of.map(({ side, round }) => `${side} round ${round}`).join(', ')}: ${reason}`,
    )
    return [...(everywhere ? [everywhere] : []), ...told]
  }
}
