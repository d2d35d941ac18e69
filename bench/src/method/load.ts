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

/** Measures what processes outside this one's tree use, from now on; each call answers for the time since the last. */
export function watchOthers(): () => number {
  const look = () => ({ at: performance.now(), foreign: busyMicros() - cpuMicrosOfTree(process.pid) })
  let last = look()
  return () => {
    const now = look()
    const micros = (now.at - last.at) * 1000
    const cores = micros > 0 ? Math.max(0, now.foreign - last.foreign) / micros : 0
    last = now
    return cores
  }
}
