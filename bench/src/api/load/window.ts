import { cpuOf } from '../stage/cpu.ts'

/** What processes used while something went on. */
export interface Window<T> {
  value: T
  seconds: number
  /** µs by the name of the group */
  cpu: Record<string, number>
  /** how busy this process, the load client, kept its core: 0 to 1 */
  clientBusy: number
}

/** @param groups process numbers by name: what each and all below it used is counted together @param client besides this process */
export async function during<T>(
  groups: Readonly<Record<string, readonly number[]>>,
  work: () => Promise<T>,
): Promise<Window<T>> {
  const look = () => Object.entries(groups).map(([name, pids]) => [name, cpuOf(pids)] as const)
  const before = Object.fromEntries(look())
  const client = process.cpuUsage()
  const began = performance.now()
  const value = await work()
  const seconds = (performance.now() - began) / 1_000
  const { user, system } = process.cpuUsage(client)
  const cpu = Object.fromEntries(look().map(([name, used]) => [name, used - (before[name] ?? 0)]))
  return { value, seconds, cpu, clientBusy: (user + system) / 1e6 / seconds }
}
