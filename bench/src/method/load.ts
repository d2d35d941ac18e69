import { loadavg } from 'node:os'
import { busyMicros, cpuMicrosOfTree } from './cpu.ts'

/** Above it a run before its start counts as disturbed. */
export const maxLoad = 0.3
/** Above it the load client may be what was measured. */
export const maxClientBusy = 0.85
/** Above it, as a share of one core, somebody else has worked meanwhile. */
export const maxOthers = 0.15

/** Load average over one minute. */
export const load = (): number => loadavg()[0] ?? 0

/** What may have disturbed a round. */
export interface Disturbance {
  /** load average before the whole run began: later it is the run's own */
  loadAtStart: number
  /** of the load client's core, 0 to 1 */
  clientBusy: number
  /** of processes that are none of this run's, in cores */
  others: number
}

/** Why a round proves nothing, in words; empty: it was quiet. */
export function noiseOf({ loadAtStart, clientBusy, others }: Disturbance): string[] {
  const percent = (share: number) => `${Math.round(share * 100)} %`
  return [
    ...(loadAtStart > maxLoad
      ? [`the machine was busy before the start (load ${loadAtStart.toFixed(2)})`]
      : []),
    ...(clientBusy > maxClientBusy ? [`the load client's core was busy (${percent(clientBusy)})`] : []),
    ...(others > maxOthers ? [`other processes worked (${percent(others)} of a core)`] : []),
  ]
}

/** Two looks nearer than this say nothing: time is counted in ticks of 10 ms. */
const leastMs = 500

/**
 * Measures what processes outside this one's tree use, from now on; each call answers for the time since the last. Calls that come
 * together, as for sides that were measured in step, get the same answer.
 */
export function watchOthers(foreign = foreignMicros, now = () => performance.now()): () => number {
  const look = () => ({ at: now(), foreign: foreign() })
  let last = look()
  let cores = 0
  return () => {
    const seen = look()
    const ms = seen.at - last.at
    if (ms < leastMs) return cores
    cores = Math.max(0, seen.foreign - last.foreign) / (ms * 1000)
    last = seen
    return cores
  }
}

const foreignMicros = () => busyMicros() - cpuMicrosOfTree(process.pid)
