import { readdir } from 'node:fs/promises'
import { svc } from '@svc/proto'
import si from 'systeminformation'
import type { Vitals } from '../behaviour.ts'
import { readDisks } from './disks.ts'
import { bytesOf, fieldsOf, textOf } from './proc.ts'

/** Ticks of all processors since boot. */
interface CpuTicks {
  busy: number
  total: number
}

/** First line of /proc/stat; `guest` is counted in `user` already (proc(5)). */
export function parseCpuTicks(stat: string): CpuTicks {
  const ticks = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? '').split(' ').map(Number).slice(0, 8)
  const [, , , idle = 0, iowait = 0] = ticks
  const total = ticks.reduce((sum, n) => sum + n, 0)
  return { busy: total - idle - iowait, total }
}

/** Totals since boot over all interfaces but the loopback. */
export function parseTraffic(netdev: string): { in: number; out: number } {
  const traffic = { in: 0, out: 0 }
  for (const [, name, rest = ''] of netdev.matchAll(/^\s*([^\s:]+):\s*(.*)$/gm)) {
    const numbers = rest.split(/\s+/).map(Number)
    if (name === 'lo') continue
    traffic.in += numbers[0] ?? 0
    traffic.out += numbers[8] ?? 0
  }
  return traffic
}

const percent = (part: number, whole: number) =>
  whole > 0 ? Math.min(100, Math.max(0, (100 * part) / whole)) : 0

const usersEveryMs = 300_000

/** Measures this machine. Processor load is the mean since the last call, at first since boot. */
export class VitalSigns {
  #ticks: CpuTicks = { busy: 0, total: 0 }
  #user = { name: '', at: Number.NEGATIVE_INFINITY }

  async read(): Promise<Vitals> {
    const [stat = '', meminfo = '', uptime = '', netdev = '', disks, processes, reboot] = await Promise.all([
      textOf('/proc/stat'),
      textOf('/proc/meminfo'),
      textOf('/proc/uptime'),
      textOf('/proc/net/dev'),
      readDisks(),
      readdir('/proc'),
      textOf('/var/run/reboot-required'),
    ])
    const memory = fieldsOf(meminfo)
    const ramTotal = bytesOf(memory.get('MemTotal'))
    const ramUsed = ramTotal - bytesOf(memory.get('MemAvailable'))
    const diskUsed = disks.reduce((sum, disk) => sum + (disk.usedBytes ?? 0), 0)
    const diskUsable = disks.reduce((sum, disk) => sum + (disk.usedBytes ?? 0) + (disk.freeBytes ?? 0), 0)
    const traffic = parseTraffic(netdev)
    return {
      status: svc.v1.HeartbeatStatus.OK,
      uptimeSeconds: Math.floor(Number.parseFloat(uptime) || 0),
      pendingReboot: reboot !== undefined,
      loggedInUser: await this.#loggedIn(),
      metrics: {
        cpuPercent: this.#load(parseCpuTicks(stat)),
        ramPercent: percent(ramUsed, ramTotal),
        ramUsedBytes: ramUsed,
        diskPercent: percent(diskUsed, diskUsable),
        diskUsedBytes: diskUsed,
        netInBytes: traffic.in,
        netOutBytes: traffic.out,
        processCount: processes.filter((name) => /^\d+$/.test(name)).length,
      },
    }
  }

  #load(now: CpuTicks): number {
    const load = percent(now.busy - this.#ticks.busy, now.total - this.#ticks.total)
    this.#ticks = now
    return load
  }

  /** Asking costs a process, so it is asked rarely. */
  async #loggedIn(): Promise<string> {
    if (Date.now() - this.#user.at < usersEveryMs) return this.#user.name
    const [first] = await si.users()
    this.#user = { name: first?.user ?? '', at: Date.now() }
    return this.#user.name
  }
}
