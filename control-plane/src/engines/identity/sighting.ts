import { areTwo, follow, type Instances } from './instances.ts'

/** A connection, and the process that it is of; empty: it gives no name, or has not yet. */
export interface Sighting {
  deviceId: string
  epoch: number
  instance: string
  atMs: number
  /** over MQTT the name comes later, on the same epoch */
  mayFollow: boolean
}

/** What is known of a device's processes, and by which connection. */
export interface Known extends Instances {
  deviceId: string
  epoch: number
  /** of a connection whose name may still follow, and when it came; 0: there is none */
  unnamedEpoch: number
  unnamedMs: number
}

/** What a device's next connections make of it; the same object where they change nothing, `two` where it takes turns. */
export function seeAll(
  known: Known | undefined,
  sightings: readonly Sighting[],
): { known: Known | undefined; two: boolean } {
  let now = known
  for (const sighting of sightings) {
    now = see(now, sighting)
    if (areTwo(now)) return { known: now, two: true }
  }
  return { known: now, two: false }
}

function see(known: Known | undefined, sighting: Sighting): Known {
  const { deviceId, epoch, instance, atMs, mayFollow } = sighting
  if (!known)
    return {
      ...first,
      deviceId,
      epoch,
      present: instance,
      ...(instance === '' && mayFollow ? unnamed(epoch, atMs) : {}),
    }
  // What is read twice, or late, was looked at, or is of no connection that counts.
  if (epoch < known.epoch || (epoch === known.epoch && epoch !== known.unnamedEpoch)) return known
  const named = epoch === known.unnamedEpoch
  if (named && instance === '') return known
  // A connection that never gave its name, and another one since: it was somebody without a name.
  const settled = known.unnamedEpoch > 0 && !named ? connect(known, '', known.unnamedMs) : known
  if (instance === '' && mayFollow) return { ...settled, epoch, ...unnamed(epoch, atMs) }
  const isSame = instance === settled.present && settled.unnamedEpoch === 0
  return isSame ? settled : { ...connect(settled, instance, atMs), epoch, ...unnamed(0, 0) }
}

const first = { earlier: {}, returns: [], unnamedEpoch: 0, unnamedMs: 0 }
const unnamed = (unnamedEpoch: number, unnamedMs: number) => ({ unnamedEpoch, unnamedMs })

const connect = (known: Known, instance: string, atMs: number): Known =>
  instance === known.present ? known : { ...known, ...follow(known, instance, atMs) }
