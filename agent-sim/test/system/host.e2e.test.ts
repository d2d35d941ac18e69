import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Link } from '../proofs/faults/link.ts'
import type { Api, CommandView, ErrorBody } from './harness/api.ts'
import { type Program, startProgram } from './harness/program.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { until } from './harness/until.ts'

interface Disk {
  mountPoint: string
  device: string
  fsType: string
  totalBytes: number
  usedBytes: number
  freeBytes: number
  collectedAt: string
}
interface Device {
  hostname: string
  osType: string
  osName: string
  osVersion: string
  osBuild: string
  architecture: string
  bootId: string
  status: string
  lastSeenIp: string
  uptimeSeconds: number
  cpuPercent: number
  ramPercent: number
  diskPercent: number
  hardware: Record<string, string | number | null> | null
  disks: Disk[]
}
interface Network {
  interfaces: { name: string; addresses: string[]; isPrimary: boolean }[]
  defaultGateway: string | null
  dnsServers: string[]
}
/** As `ip -j addr` prints it. */
interface IpLink {
  ifname: string
  flags: string[]
  mtu: number
  address?: string
  addr_info: { local: string; prefixlen: number }[]
}
interface SoftwarePage {
  data: { name: string; version: string; architecture: string }[]
  pagination: { cursor: string | null }
}
interface Process {
  pid: number
  parentPid: number
  name: string
  commandLine: string
  user: string
  ramBytes: number
  startedAt: string
}

const said = (command: string, ...args: string[]) => execFileSync(command, args).toString().trim()
const hasIp = ['/sbin/ip', '/usr/sbin/ip', '/bin/ip', '/usr/bin/ip'].some((path) => existsSync(path))
/** Others write while we look. */
const mebibytes = 64 * 2 ** 20
const nobody = 65_534
const readdress = join(import.meta.dirname, 'harness/readdress.mjs')

systemTests('the agent of this machine', () => {
  let system: System
  let api: Api
  let agent: Program
  let wire: Link
  let id: string
  const device = () => api.want<Device>(200, 'GET', `/devices/${id}`)
  const run = async (payload: object): Promise<CommandView> =>
    api.ended(id, await api.send(id, 'run_script', { interpreter: 'sh', ...payload }))

  beforeAll(async () => {
    system = await startSystem({
      controlPlanes: 1,
      variablesOfFirst: async ({ GATEWAY_URLS = '' }) => {
        wire = await Link.to(GATEWAY_URLS.split(',').find((url) => url.endsWith('/agent')) ?? '')
        return { gateway: {}, controlPlane: { GATEWAY_URLS: wire.url } }
      },
    })
    api = await system.admin()
    agent = await startProgram({
      entry: 'agent',
      args: ['host', '--state-dir', join(system.folder, 'host')],
      env: {
        SVC_API: system.apiUrl,
        SVC_ENROLLMENT_KEY: system.tenant.enrollmentKey,
        NODE_OPTIONS: `--import=${readdress}`,
      },
      ready: /connected in/,
    })
    id = /enrolled as (\S+)/.exec(agent.log())?.[1] ?? ''
    await until('it has told everything', async () => {
      const { hardware, disks, bootId, uptimeSeconds } = await device()
      const { data } = await api.want<SoftwarePage>(200, 'GET', `/devices/${id}/software?limit=1`)
      const told = hardware?.['collectedAt'] && disks.length > 0 && bootId && uptimeSeconds
      return Boolean(told && (data.length > 0 || !existsSync('/usr/bin/dpkg-query')))
    })
  })
  afterAll(async () => {
    await agent?.kill()
    await system?.close()
    wire?.close()
  })

  test('hardware and system are what the kernel and its tools say', async () => {
    const shown = await device()
    const cpuinfo = readFileSync('/proc/cpuinfo', 'utf8')
    const memory = Number(/^MemTotal:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1])
    const model = /^model name\s*: (.*)$/m.exec(cpuinfo)?.[1]
    expect(shown.hardware).toMatchObject({
      cpuThreads: cpuinfo.match(/^processor\s*:/gm)?.length,
      ramTotalBytes: memory * 1024,
      ...(model === undefined ? {} : { cpuModel: model }),
    })
    expect(shown.hardware?.['cpuCores']).toBeGreaterThan(0)
    expect(shown.hardware?.['diskTotalBytes']).toBeGreaterThan(0)
    const machines: Record<string, string> = { x86_64: 'amd64', aarch64: 'arm64' }
    expect(shown).toMatchObject({
      status: 'online',
      hostname: said('uname', '-n'),
      osType: 'linux',
      osName: said('sh', '-c', '. /etc/os-release; echo "$NAME"'),
      osVersion: said('sh', '-c', '. /etc/os-release; echo "$VERSION_ID"'),
      osBuild: said('uname', '-r'),
      architecture: machines[said('uname', '-m')] ?? (expect.any(String) as string),
      bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      lastSeenIp: '127.0.0.1',
    })
    const uptime = Number.parseFloat(readFileSync('/proc/uptime', 'utf8'))
    expect(Math.abs(shown.uptimeSeconds - uptime)).toBeLessThan(10)
    for (const percent of [shown.ramPercent, shown.diskPercent]) {
      expect(percent).toBeGreaterThan(0)
      expect(percent).toBeLessThanOrEqual(100)
    }
  })

  test('disks are what df and statfs say', async () => {
    const { disks } = await device()
    expect(disks.map(({ mountPoint }) => mountPoint)).toContain('/')
    for (const disk of disks) {
      const fields = said('df', '-k', '--output=source,fstype,size,used,avail', disk.mountPoint)
        .split('\n')
        .at(-1)
      const [source, type, size, used, free] = fields?.split(/\s+/) ?? []
      const { blocks, bsize } = statfsSync(disk.mountPoint)
      expect([disk.device, disk.fsType, disk.totalBytes]).toEqual([source, type, Number(size) * 1024])
      expect(disk.totalBytes).toBe(blocks * bsize)
      expect(Math.abs(disk.usedBytes - Number(used) * 1024)).toBeLessThan(8 * mebibytes)
      expect(Math.abs(disk.freeBytes - Number(free) * 1024)).toBeLessThan(8 * mebibytes)
    }
  })

  test.skipIf(!hasIp)('the network is what ip and resolv.conf say', async () => {
    const shown = await api.want<Network>(200, 'GET', `/devices/${id}/network`)
    const links = (JSON.parse(said('ip', '-j', 'addr')) as IpLink[]).filter(({ ifname }) => ifname !== 'lo')
    expect(new Set(shown.interfaces.map(({ name }) => name))).toEqual(
      new Set(links.map(({ ifname }) => ifname)),
    )
    for (const { ifname, flags, mtu, address, addr_info } of links) {
      const one = shown.interfaces.find(({ name }) => name === ifname)
      expect(one).toMatchObject({ mtu, ...(address?.length === 17 && { macAddress: address }) })
      if (flags.includes('LOWER_UP'))
        expect(new Set(one?.addresses)).toEqual(
          new Set(addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen}`)),
        )
    }
    const [, gateway = null, primary] =
      /^default via (\S+) dev (\S+)/m.exec(said('sh', '-c', 'ip route; ip -6 route')) ?? []
    expect(shown.defaultGateway).toBe(gateway)
    expect(shown.interfaces.find(({ isPrimary }) => isPrimary)?.name).toBe(primary)
    const servers = [...readFileSync('/etc/resolv.conf', 'utf8').matchAll(/^nameserver\s+(\S+)/gm)]
    if (!servers.some(([, server]) => server?.startsWith('127.')))
      expect(shown.dnsServers).toEqual(servers.map(([, server]) => server))
  })

  test.skipIf(!existsSync('/usr/bin/dpkg-query'))(
    'software is what dpkg-query says, page by page',
    async () => {
      const shown: string[] = []
      let cursor: string | null = null
      do {
        const query: string = `limit=400${cursor === null ? '' : `&cursor=${cursor}`}`
        const page: SoftwarePage = await api.want(200, 'GET', `/devices/${id}/software?${query}`)
        for (const { name, version, architecture } of page.data)
          shown.push(`${name} ${version} ${architecture}`)
        cursor = page.pagination.cursor
      } while (cursor !== null)
      // oxlint-disable-next-line no-template-curly-in-string -- dpkg's own
      const format = '${db:Status-Status} ${Package} ${Version} ${Architecture}\n'
      const installed = said('dpkg-query', '-W', '-f', format)
        .split('\n')
        .filter((line) => line.startsWith('installed '))
      expect(shown).toHaveLength(installed.length)
      expect(new Set(shown)).toEqual(new Set(installed.map((line) => line.slice('installed '.length))))
      const found: SoftwarePage = await api.want(200, 'GET', `/devices/${id}/software?search=DPKG`)
      expect(found.data.map(({ name }) => name)).toContain('dpkg')
    },
  )

  test('processes are what ps says, one of another user among them', async () => {
    const mark = `86399.${process.pid}`
    const asRoot = process.getuid?.() === 0
    const child = spawn('sleep', [mark], { stdio: 'ignore', ...(asRoot ? { uid: nobody, gid: nobody } : {}) })
    try {
      const list = async (payload: object) => {
        const view = await api.ended(id, await api.send(id, 'list_processes', payload))
        return view.result as { processes: Process[]; total: number }
      }
      const { processes } = await list({ search: mark })
      const ps = (field: string) => said('ps', '-o', `${field}=`, '-p', String(child.pid))
      const shown = processes.find(({ pid }) => pid === child.pid)
      expect(shown).toMatchObject({
        pid: child.pid,
        parentPid: process.pid,
        name: 'sleep',
        commandLine: `sleep ${mark}`,
        user: ps('euser:40'),
      })
      if (asRoot) expect(shown?.user).not.toBe('root')
      expect(Math.abs((shown?.ramBytes ?? 0) - Number(ps('rss')) * 1024)).toBeLessThan(2 ** 20)
      expect(
        Math.abs(new Date(shown?.startedAt ?? 0).getTime() - new Date(ps('lstart')).getTime()),
      ).toBeLessThan(2_000)

      const [all, counted] = [await list({ limit: 500 }), said('ps', '-e', '-o', 'pid=').split('\n').length]
      expect(Math.abs(all.total - counted)).toBeLessThan(25)
      expect(all.processes.length).toBe(Math.min(all.total, 500))

      child.kill('SIGKILL')
      await new Promise((resolve) => child.once('exit', resolve))
      expect((await list({ search: `sleep ${mark}` })).processes).toEqual([])
    } finally {
      child.kill('SIGKILL')
    }
  })

  test('a script runs in the real shell: arguments, bytes of both streams, exit code', async () => {
    const content = `printf '%s|' "$@"; printf '\\377\\000end'; printf 'wörse' >&2; exit 5`
    const view = await run({ content, args: ['a b', '$HOME'] })
    expect(view).toMatchObject({ status: 'failed', exitCode: 5, stderr: { text: 'wörse', size: 6 } })
    const bytes = Buffer.concat([Buffer.from('a b|$HOME|'), Buffer.of(0xff, 0), Buffer.from('end')])
    expect(view.stdout?.size).toBe(bytes.length)
    expect(Buffer.from(view.stdout?.base64 ?? '', 'base64')).toEqual(bytes)
    const [row] = await system.sql<{ stdout: Buffer }[]>`select stdout from commands where id = ${view.id}`
    expect(row?.stdout).toEqual(bytes)
    expect(await run({ content: 'uname -r' })).toMatchObject({
      status: 'succeeded',
      exitCode: 0,
      stdout: { text: `${said('uname', '-r')}\n` },
    })
  })

  test('a script that takes too long ends with everything that it started', async () => {
    const mark = `4242.${process.pid}`
    const started = () =>
      said('ps', '-e', '-o', 'args=')
        .split('\n')
        .filter((line) => line === `sleep ${mark}`).length
    const content = `sleep ${mark} & setsid sleep ${mark} & echo begun; wait`
    const command = await api.send(id, 'run_script', { interpreter: 'sh', content, timeoutSeconds: 3 })
    await until('it has started them', () => started() === 2, 20_000)
    expect(await api.ended(id, command)).toMatchObject({ status: 'timed_out', stdout: { text: 'begun\n' } })
    await until('they are gone', () => started() === 0)
  })

  test('a refresh of the inventory brings new numbers; a second one while it is pending is refused', async () => {
    const root = ({ disks }: Device) => disks.find(({ mountPoint }) => mountPoint === '/')
    const before = root(await device())
    writeFileSync(join(system.folder, 'weight'), Buffer.alloc(2 ** 20, 'x'))
    await sleep(10)
    agent.signal('SIGSTOP') // so that it is pending for as long as we want
    const first = await api.send(id, 'refresh_inventory')
    const refusal = await api.ask<ErrorBody>('POST', `/devices/${id}/commands`, { type: 'refresh_inventory' })
    expect(refusal).toMatchObject({
      status: 409,
      body: { error: { code: 'ALREADY_PENDING', details: [{ commandId: first }] } },
    })
    agent.signal('SIGCONT')
    const result = { collected: ['hardware', 'os', 'disks', 'network', 'software'] }
    expect(await api.ended(id, first)).toMatchObject({ status: 'succeeded', result })
    await until('the new numbers are shown', async () => {
      const after = root(await device())
      return new Date(after?.collectedAt ?? 0) > new Date(before?.collectedAt ?? 0)
    })
    expect(await api.ended(id, await api.send(id, 'refresh_inventory'))).toMatchObject({
      status: 'succeeded',
    })
  })
  test('within 5 s of a change of the network the agent is back, though its old connection never ended', async () => {
    const admittedAt = async () => {
      const [row] = await system.sql<{ epoch: number }[]>`
        select epoch from device_presence where device_id = ${id}`
      return Math.floor((row?.epoch ?? 0) / 1000) // an epoch is a time
    }
    const before = await admittedAt()
    wire.strand()
    const changedAt = Date.now()
    agent.signal('SIGUSR2')
    await until('it is admitted again', async () => (await admittedAt()) > before)
    expect((await admittedAt()) - changedAt).toBeLessThan(5_000)
  })
})
