import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { nameServers, parseResolvers, readNetwork } from './network.ts'
import { defaultRoute4, defaultRoute6, ipv6 } from './routes.ts'

const said = (...args: string[]) => execFileSync('ip', args).toString()
const hasIp = ['/sbin/ip', '/usr/sbin/ip', '/bin/ip', '/usr/bin/ip'].some((path) => existsSync(path))

interface Link {
  ifname: string
  flags: string[]
  mtu: number
  address?: string
  operstate: string
  addr_info: { local: string; prefixlen: number }[]
}

it.skipIf(!hasIp)('interfaces and routes are what ip says', async () => {
  const links = (JSON.parse(said('-j', 'addr')) as Link[]).filter(({ flags }) => !flags.includes('LOOPBACK'))
  const { interfaces, defaultGateway } = await readNetwork()
  const byName = new Map(interfaces?.map((one) => [one.name, one]))
  expect(new Set(byName.keys())).toEqual(new Set(links.map(({ ifname }) => ifname)))
  for (const link of links) {
    const shown = byName.get(link.ifname)
    const held = link.addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen}`)
    expect(shown).toMatchObject({
      mtu: link.mtu,
      state: { UP: 'up', UNKNOWN: 'unknown' }[link.operstate] ?? 'down',
      ...(link.address?.length === 17 && { macAddress: link.address }),
    })
    if (link.flags.includes('LOWER_UP')) expect(new Set(shown?.addresses)).toEqual(new Set(held))
  }
  const [, gateway, device] = /^default via (\S+) dev (\S+)/m.exec(said('route')) ?? []
  if (!gateway) return
  expect(defaultGateway).toBe(gateway)
  expect(interfaces?.filter(({ isPrimary }) => isPrimary).map(({ name }) => name)).toEqual([device])
})

it('name servers are those of resolv.conf, each once', async () => {
  expect(
    parseResolvers('# nameserver 1\nnameserver 9.9.9.9 \nnameserver\t2001:db8::1\nnameserver 9.9.9.9\n'),
  ).toEqual(['9.9.9.9', '2001:db8::1'])
  const text = existsSync('/etc/resolv.conf') ? readFileSync('/etc/resolv.conf', 'utf8') : ''
  if (!/^nameserver 127\.0\.0\.5/m.test(text)) expect(await nameServers()).toEqual(parseResolvers(text))
})

it('the default route is the one with the lowest metric that leads anywhere', () => {
  const header = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT'
  const row = (...fields: string[]) => fields.join('\t')
  const text = [
    header,
    row('wlan0', '00000000', '0101A8C0', '0003', '0', '0', '600', '00000000'),
    row('bad0', '00000000', '0101A8C0', '0203', '0', '0', '0', '00000000'),
    row('eth0', '00000000', 'FE00A8C0', '0003', '0', '0', '100', '00000000'),
    row('half0', '00000000', '00000000', '0001', '0', '0', '0', '00000080'),
    row('tun0', '00000000', '00000000', '0001', '0', '0', '700', '00000000'),
  ].join('\n')
  expect(defaultRoute4(text)).toEqual({ device: 'eth0', gateway: '192.168.0.254', metric: 100 })
  expect(defaultRoute4(header)).toBeUndefined()
  const nothing = '0'.repeat(32)
  const six = [
    `${nothing} 00 ${nothing} 00 ${nothing} ffffffff 00000001 00000000 00200200       lo`,
    `${nothing} 00 ${nothing} 00 fe800000000000000000000000000001 00000400 00000003 00000000 00000003 eth0`,
    `fd${nothing.slice(2)} 40 ${nothing} 00 ${nothing} 00000100 00000001 00000000 00000001 eth1`,
  ].join('\n')
  expect(defaultRoute6(six)).toEqual({ device: 'eth0', gateway: 'fe80::1', metric: 1024 })
  expect(ipv6('20010db8000000010000000000000001')).toBe('2001:db8:0:1::1')
})
