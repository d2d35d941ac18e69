import { cpuMicrosOfTree } from '../../method/cpu.ts'

/** What processes used while something went on. */
export interface Window<T> {
  value: T
  seconds: number
  /** CPU-µs by the name of the process, children included */
  cpu: Record<string, number>
  /** how busy this process, the load client, kept its core: 0 to 1 */
  clientBusy: number
}

/** @param servers process numbers by name: each counts with all that it has started */
export async function during<T>(
  servers: Readonly<Record<string, number>>,
  work: () => Promise<T>,
): Promise<Window<T>> {
  const look = () => Object.entries(servers).map(([name, pid]) => [name, cpuMicrosOfTree(pid)] as const)
  const before = Object.fromEntries(look())
  const client = process.cpuUsage()
  const began = performance.now()
  const value = await work()
  const seconds = (performance.now() - began) / 1_000
  const { user, system } = process.cpuUsage(client)
  const cpu = Object.fromEntries(look().map(([name, used]) => [name, used - (before[name] ?? 0)]))
  return { value, seconds, cpu, clientBusy: (user + system) / 1e6 / seconds }
}
