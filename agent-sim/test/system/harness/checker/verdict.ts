import { type Accepted, type WorkFaults, workFaults } from '../judge.ts'
import { auditFaults } from './audit.ts'
import type { Evidence } from './evidence.ts'
import { outcomeFaults, resolved } from './outcomes.ts'
import { ownerFaults } from './owners.ts'
import { versionFaults } from './versions.ts'

/** What must hold of all work under every fault, and that what was accepted ended as it must. */
export const invariants = {
  a: 'accepted commands that do not exist',
  b: 'commands without their one effect, or with an effect too many',
  c: 'effects on another device, or of another organization',
  d: 'commands that have not ended',
  e: 'commands and ledgers that went back',
  f: 'faults of the audit log, its chains, and its records of commands',
  g: 'requests whose outcome is neither there nor not there',
  end: 'commands that ended otherwise than they must, or with another’s output',
} as const

export type Verdict = Record<keyof typeof invariants, string[]>

/** Judges from the evidence alone. */
export function judge(evidence: Evidence): Verdict {
  const work = workOf(evidence)
  return {
    a: work.lost,
    b: work.excess,
    c: [...work.stray, ...ownerFaults(evidence)],
    d: work.open,
    e: versionFaults(evidence),
    f: auditFaults(evidence),
    g: outcomeFaults(evidence),
    end: work.otherwise,
  }
}

/** What nobody was certain of, and is there, is work like any other: it may have come to any end. */
function workOf(evidence: Evidence): WorkFaults {
  const known = new Set(evidence.accepted.map(({ id }) => id))
  const uncertain = resolved(evidence)
    .filter(({ id }) => !known.has(id))
    .map(({ id, deviceId }): Accepted => ({ id, deviceId, mayEnd: anyEnd }))
  return workFaults([...evidence.accepted, ...uncertain], evidence.rows, evidence.effects)
}

const anyEnd = ['failed', 'timed_out', 'cancelled', 'expired', 'rejected', 'interrupted']

/** All of it, each line with its invariant. */
export const linesOf = (verdict: Verdict): string[] =>
  Object.entries(verdict).flatMap(([name, faults]) => faults.map((fault) => `(${name}) ${fault}`))
