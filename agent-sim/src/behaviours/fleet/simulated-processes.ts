import type { Facts } from '../behaviour.ts'
import type { Process } from '../process-page.ts'
import { between, dice } from './dice.ts'

const mib = 2 ** 20

const programs: Record<Facts['osType'], readonly string[]> = {
  windows: [
    'System',
    'smss.exe',
    'csrss.exe',
    'services.exe',
    'lsass.exe',
    'svchost.exe',
    'explorer.exe',
    'msedge.exe',
    'outlook.exe',
    'teams.exe',
  ],
  macos: ['launchd', 'WindowServer', 'Finder', 'Dock', 'mds_stores', 'Safari', 'Mail', 'coreaudiod'],
  linux: ['systemd', 'systemd-journald', 'sshd', 'cron', 'postgres', 'nginx', 'node', 'rsyslogd'],
}

/** A machine's processes: always the same ones, at loads that differ from call to call with `round`. */
export function simulateProcesses(
  number: number,
  facts: Facts,
  bootedAtMs: number,
  round: number,
): Process[] {
  const [fixed, moving] = [dice(number ^ 0x51ed), dice(number + 7919 * round)]
  const root = facts.osType === 'windows' ? 'SYSTEM' : 'root'
  let pid = 0
  return Array.from({ length: between(fixed, 40, 160) }, (_, at): Process => {
    const names = programs[facts.osType]
    const name = names[at % names.length] ?? 'idle'
    pid += at === 0 ? 1 : between(fixed, 1, 60)
    return {
      pid,
      parentPid: at === 0 ? 0 : 1,
      name,
      commandLine: at === 0 ? name : `${name} --instance ${Math.floor(at / names.length)}`,
      user: at % 3 === 2 ? 'user' : root,
      state: 'S',
      cpuPercent: Math.round(moving() ** 8 * 1000) / 10,
      ramBytes: between(fixed, 2, 600) * mib,
      startedAt: new Date(bootedAtMs + at * 1000).toISOString(),
    }
  })
}
