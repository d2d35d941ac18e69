import type { Evidence, LedgerStep, StateOf } from './evidence.ts'

const stateRanks: Record<string, number> = { queued: 0, delivered: 1, running: 2 }
/** Of every state that is final: none comes after another. */
const finalRank = 3

const ledgerRanks: Record<string, number> = { received: 0, started: 1, finished: 2, acked: 3 }

/** Invariant e: what a command was, and what a ledger knew of it, only ever went forward. */
export const versionFaults = ({ states, ledgers }: Pick<Evidence, 'states' | 'ledgers'>): string[] => [
  ...stateFaults(states),
  ...ledgerFaults(ledgers),
]

function stateFaults(states: readonly StateOf[]): string[] {
  const latest = new Map<string, StateOf>()
  return states.flatMap((next) => {
    const before = latest.get(next.commandId)
    latest.set(next.commandId, next)
    if (!before) return next.status === 'queued' ? [] : [`command ${next.commandId} began as ${next.status}`]
    const askedAgain = next.life > before.life && next.status === 'queued' && rankOf(before) < finalRank
    if (rankOf(next) > rankOf(before) || askedAgain) return []
    return [`command ${next.commandId} was ${before.status} and became ${next.status}`]
  })
}

const rankOf = ({ status }: StateOf): number => stateRanks[status] ?? finalRank

function ledgerFaults(steps: readonly LedgerStep[]): string[] {
  const latest = new Map<string, number>()
  return steps.flatMap(({ deviceId, commandId, state }) => {
    const [place, rank] = [`${deviceId} ${commandId}`, ledgerRanks[state] ?? -1]
    const before = latest.get(place) ?? -1
    latest.set(place, rank)
    return rank > before
      ? []
      : [`the ledger of ${deviceId} says ${state} of ${commandId} after what comes later`]
  })
}
