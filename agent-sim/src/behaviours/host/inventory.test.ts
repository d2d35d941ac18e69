import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { commandTypes, svc } from '@svc/proto'
import { parseMounts, readDisks, realMounts } from './disks.ts'
import { operatingSystem, parseOsRelease, readFacts } from './facts.ts'
import { parseCpu, readHardware } from './hardware.ts'
import { pageOf } from '../process-page.ts'
import { commandLineOf, parseStat, readProcesses } from './processes.ts'
import { parseCpuTicks, parseTraffic, VitalSigns } from './vitals.ts'
import { patient } from '../../../test/eventually.ts'

patient()

const onLinux = it.skipIf(process.platform !== 'linux')
const said = (command: string, ...args: string[]) => execFileSync(command, args).toString().trim()

onLinux('hardware says what /proc says', async () => {
  const hardware = await readHardware()
  const cpuinfo = readFileSync('/proc/cpuinfo', 'utf8')
  expect(hardware.cpuThreads).toBe(Number(said('getconf', '_NPROCESSORS_ONLN')))
  expect(hardware.cpuThreads).toBe(cpuinfo.match(/^processor\s*:/gm)?.length)
  if (/^model name/m.test(cpuinfo)) expect(cpuinfo).toContain(`model name\t: ${hardware.cpuModel}\n`)
  expect(hardware.cpuCores).toBeGreaterThan(0)
  expect(hardware.cpuCores).toBeLessThanOrEqual(hardware.cpuThreads ?? 0)
  const total = Number(/^MemTotal:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1])
  expect(hardware.ramTotalBytes).toBe(total * 1024)
  expect(hardware.diskTotalBytes).toBeGreaterThan(0)
})

onLinux('the operating system says what os-release, uname and the kernel say', async () => {
  const os = await operatingSystem(await readFacts())
  const machine = { x86_64: 'amd64', aarch64: 'arm64' }[said('uname', '-m')] ?? os.architecture
  expect(os).toMatchObject({
    hostname: said('uname', '-n'),
    osType: 'linux',
    name: said('sh', '-c', '. /etc/os-release; echo "$NAME"'),
    version: said('sh', '-c', '. /etc/os-release; echo "$VERSION_ID"'),
    build: said('uname', '-r'),
    architecture: machine,
    bootId: said('cat', '/proc/sys/kernel/random/boot_id'),
    bootedAtMs: Number(said('awk', '/^btime/{print $2}', '/proc/stat')) * 1000,
  })
})

onLinux('disks say what df says', async () => {
  const disks = await readDisks()
  expect(disks.map(({ mountPoint }) => mountPoint)).toContain('/')
  for (const disk of disks) {
    const [source, type, total, used, free] =
      said('df', '-k', '--output=source,fstype,size,used,avail', String(disk.mountPoint))
        .split('\n')
        .at(-1)
        ?.split(/\s+/) ?? []
    expect([disk.device, disk.fsType, disk.totalBytes]).toEqual([source, type, Number(total) * 1024])
    // Others write while we look.
    const tolerance = 64 * 2 ** 20
    expect(Math.abs((disk.usedBytes ?? 0) - Number(used) * 1024)).toBeLessThan(tolerance)
    expect(Math.abs((disk.freeBytes ?? 0) - Number(free) * 1024)).toBeLessThan(tolerance)
  }
})

onLinux('processes say what ps says', async () => {
  const busy = execFileSync('sh', ['-c', 'sh -c "while :; do :; done" >/dev/null 2>&1 & echo $!'])
    .toString()
    .trim()
  try {
    const processes = await readProcesses()
    const own = processes.find(({ pid }) => pid === process.pid)
    const ps = (field: string) => said('ps', '-o', `${field}=`, '-p', String(process.pid))
    expect(own).toMatchObject({
      parentPid: process.ppid,
      name: ps('comm'),
      user: ps('euser'),
      commandLine: ps('args'),
    })
    expect(Math.abs((own?.ramBytes ?? 0) - Number(ps('rss')) * 1024)).toBeLessThan(32 * 2 ** 20)
    const started = new Date(ps('lstart')).getTime()
    expect(Math.abs(new Date(own?.startedAt ?? 0).getTime() - started)).toBeLessThan(2_000)
    const spinning = processes.find(({ pid }) => pid === Number(busy))
    expect(spinning?.cpuPercent).toBeGreaterThan(0)
    expect(spinning?.state).toBe('R')
    const page = pageOf(processes, commandTypes.list_processes.args.parse({ search: 'while :', limit: 1 }))
    expect(page.processes[0]?.pid).toBe(Number(busy))
    expect(commandTypes.list_processes.result.parse(page)).toEqual(page)
  } finally {
    process.kill(Number(busy), 'SIGKILL')
  }
})

onLinux('vital signs say what /proc says, the processor since the last look', async () => {
  const signs = new VitalSigns()
  await signs.read()
  const since = performance.now()
  while (performance.now() - since < 300);
  const { metrics, uptimeSeconds } = await signs.read()
  const uptime = Number.parseFloat(readFileSync('/proc/uptime', 'utf8'))
  expect(Math.abs((uptimeSeconds ?? 0) - uptime)).toBeLessThan(2)
  expect(metrics?.cpuPercent).toBeGreaterThan(10)
  expect(metrics?.cpuPercent).toBeLessThanOrEqual(100)
  expect(metrics?.ramUsedBytes).toBeGreaterThan(2 ** 20)
  expect(metrics?.ramPercent).toBeLessThan(100)
  expect(metrics?.diskPercent).toBeGreaterThan(0)
  expect(metrics?.processCount).toBeGreaterThan(2)
  expect(svc.v1.Metrics.verify(metrics ?? {})).toBeNull()
})

it('reads a process name with parentheses and spaces in it', () => {
  const numbers = Array.from({ length: 49 }, (_, at) => at + 4)
  const stat = parseStat(`77 (tmux: (x) y) S 1 ${numbers.join(' ')}\n`)
  expect(stat).toEqual({ name: 'tmux: (x) y', state: 'S', parentPid: 1, cpuTicks: 13 + 14, startTicks: 21 })
  expect(commandLineOf('a\0b c\0\0', 'a')).toBe('a b c')
  expect(commandLineOf('', 'kthreadd')).toBe('[kthreadd]')
})

it('counts each real file system once, where its path is shortest, and the root whatever it is', () => {
  const mounts = parseMounts(
    [
      '1 0 0:50 / / rw - overlay overlay rw',
      '2 1 0:5 / /dev rw - devtmpfs devtmpfs rw',
      '3 1 8:1 /sub /long/path rw shared:1 - ext4 /dev/sda1 rw',
      String.raw`4 1 8:1 / /my\040disk rw - ext4 /dev/sda1 rw`,
      '5 1 7:1 / /snap/x ro - squashfs /dev/loop1 ro',
      '6 1 0:44 / /tank rw - zfs tank/data rw',
      '7 1 0:45 / /mnt/nfs rw - nfs4 server:/x rw',
      '8 1 8:2 / /covered rw - ext4 /dev/sda2 rw',
      '9 1 0:60 / /covered rw - tmpfs tmpfs rw',
    ].join('\n'),
  )
  const nodev = new Set(['overlay', 'devtmpfs', 'tmpfs', 'nfs4', 'zfs'])
  expect(realMounts(mounts, nodev).map(({ mountPoint }) => mountPoint)).toEqual(['/', '/my disk', '/tank'])
})

it('counts cores once however many threads they have', () => {
  const block = (n: number, socket: number, core: number) =>
    `processor\t: ${n}\nmodel name\t: CPU\nphysical id\t: ${socket}\ncore id\t: ${core}\n`
  const text = [block(0, 0, 0), block(1, 0, 0), block(2, 0, 1), block(3, 1, 0)].join('\n')
  expect(parseCpu(text)).toEqual({ model: 'CPU', cores: 3, threads: 4 })
})

it('reads quoted and bare assignments, processor ticks and traffic', () => {
  expect(parseOsRelease('NAME="A \\"B\\" C"\nID=debian\n# x\nVERSION_ID=\'12\'\n')).toEqual({
    NAME: 'A "B" C',
    ID: 'debian',
    VERSION_ID: '12',
  })
  expect(parseCpuTicks('cpu  10 1 5 100 20 2 3 4 9 9\ncpu0 1 1\n')).toEqual({ busy: 25, total: 145 })
  const row = (name: string, received: number, sent: number) =>
    `${name}: ${received} 1 0 0 0 0 0 0 ${sent} 1 0 0 0 0 0 0`
  expect(
    parseTraffic(
      ['Inter-| x', ' face | y', row('    lo', 5, 5), row('  eth0', 7, 8), row('wlan0', 1, 1)].join('\n'),
    ),
  ).toEqual({
    in: 8,
    out: 9,
  })
})
