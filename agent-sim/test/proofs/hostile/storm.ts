import type { Api } from '../../system/harness/api.ts'
import type { System } from '../../system/harness/system.ts'
import { none, type Row } from '../verdict.ts'
import { type Counts, sumOf } from './counts.ts'
import { fuzz, type Told } from './fuzz.ts'
import { mutations } from './frames.ts'
import { downKinds, upKinds } from './model.ts'
import { memoryOf, processesOf, sameMemory, samePids } from './processes.ts'
import { Scene, transports } from './scene.ts'

export interface HostileFrames {
  /** per transport */
  frames: number
  /** devices that misbehave, on each transport */
  agents?: number
  seed: number
  system: System
  /** an administrator's */
  api: Api
  /** which of the system's gateways */
  gateway?: number
  say?: (line: string) => void
}

export interface Storm {
  rows: Row[]
  /** how connections were ended, over all transports */
  reasons: Counts
}

const decodedShare = 0.3
/** Of connections, those that may be told to come again: more of it and too little is said. */
const laterShare = 0.1
/** What stays behind when a storm is over; a short one leaves its own traces in memory that is new. */
const roomBytes = 50 * 2 ** 20
const roomFromFrames = 200_000
/** Frames that no chance of a short run leaves out. */
const reasonsOfFrames = [
  'MALFORMED_FRAME',
  'UNKNOWN_KIND',
  'OVERSIZED_FRAME',
  'UNEXPECTED_FRAME',
  'SHUTDOWN',
  'UNINSTALL',
  'DRAINING',
  'PEER_CLOSED',
]

/** Mutated valid frames over all transports at once, each judged by what the documents say of it: nothing but its own connection ends. */
export async function hostileFrames(asked: HostileFrames): Promise<Storm> {
  const { frames, seed, system, api, gateway = 0, agents = 16, say = () => undefined } = asked
  const scene = new Scene(system, api, gateway)
  const processes = processesOf(system, gateway)
  const storm = async (share: number, turn: number) =>
    Promise.all(
      transports.map(async (transport, n) => {
        const identities = await scene.devices(agents)
        const own = seed + 1_000 * turn + 100 * n
        return fuzz({
          transport,
          url: scene.doors[transport],
          identities,
          frames: Math.ceil(frames * share),
          seed: own,
          say,
        })
      }),
    )
  // What the first part of it takes, the rest uses again.
  const first = await storm(0.1, 0)
  const before = memoryOf(processes)
  const told = merged(first, await storm(0.9, 1))
  const rows = [
    ...told.flatMap((one) => transportRows(one, frames)),
    ...[...upKinds, ...downKinds].map((kind) =>
      reachedRow(`messages of kind ${kind}`, told, ({ kinds }) => kinds.get(kind)),
    ),
    ...mutations.map((name) => reachedRow(`mutation: ${name}`, told, (one) => one.mutations.get(name))),
    ...reasonsOfFrames.map((reason) =>
      reachedRow(`frames that ended with ${reason}`, told, ({ reasons }) => reasons.get(reason)),
    ),
    samePids(processes, processesOf(system, gateway)),
    ...(frames >= roomFromFrames
      ? [sameMemory('resident memory of the workers', before, memoryOf(processes), roomBytes)]
      : []),
  ]
  return { rows, reasons: told.map(({ reasons }) => reasons).reduce(sumOf) }
}

const transportRows = (
  { transport, frames, decoded, connections, later, faults }: Told,
  wanted: number,
): Row[] => {
  const turnedAway = [...later.values()].reduce((sum, many) => sum + many, 0)
  const words = [...later].map(([why, many]) => `${many} ${why}`).join(', ')
  return [
    {
      what: `mutated frames over ${transport} that were handled, on ${connections} connections`,
      expected: `≥ ${wanted}`,
      seen: String(frames),
      pass: frames >= wanted,
    },
    {
      what: `of those over ${transport}, they still decode by the .proto`,
      expected: `≥ ${decodedShare * 100} %`,
      seen: `${((100 * decoded) / frames).toFixed(1)} %`,
      pass: decoded / frames >= decodedShare,
    },
    none(`connections over ${transport} that went otherwise than the documents say`, faults),
    {
      what: `connections over ${transport} that were told to come again`,
      expected: `≤ ${laterShare * 100} %`,
      seen: words || 'none',
      pass: turnedAway <= laterShare * connections,
    },
  ]
}

/** One count for each transport; none is zero. */
function reachedRow(what: string, told: readonly Told[], of: (one: Told) => number | undefined): Row {
  const counts = told.map((one) => of(one) ?? 0)
  return { what, expected: '> 0 each', seen: counts.join(' / '), pass: counts.every((many) => many > 0) }
}

/** The same transports, one run after another, as one. */
const merged = (first: readonly Told[], second: readonly Told[]): Told[] =>
  first.map((a, n) => {
    const b = second[n]
    if (!b) return a
    return {
      transport: a.transport,
      frames: a.frames + b.frames,
      decoded: a.decoded + b.decoded,
      connections: a.connections + b.connections,
      mutations: sumOf(a.mutations, b.mutations),
      kinds: sumOf(a.kinds, b.kinds),
      reasons: sumOf(a.reasons, b.reasons),
      later: sumOf(a.later, b.later),
      faults: [...a.faults, ...b.faults],
    }
  })
