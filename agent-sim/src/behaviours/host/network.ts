import { readdir } from 'node:fs/promises'
import type { svc } from '@svc/proto'
import { textOf } from './proc.ts'
import { addresses, defaultRoute } from './routes.ts'

/** A host of containers has one interface for each of them: more than this tell nobody anything. */
const maxInterfaces = 256
/** What libc itself looks at is three; more are harmless (resolv.conf(5)). */
const maxServers = 16

const ethernet = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/
/** ARPHRD_LOOPBACK of linux/if_arp.h */
const loopback = '772'

/** Answers locally for the real servers (systemd-resolved.service(8)), which are in the other file. */
const stub = /^127\.0\.0\.5[34]$/

/** The `nameserver` lines of resolv.conf(5), in order, each once. */
export const parseResolvers = (text: string): string[] => [
  ...new Set([...text.matchAll(/^nameserver[ \t]+(\S+)/gm)].map(([, server = '']) => server)),
]

/** The name servers of this host, and not the one in front of them. */
export async function nameServers(): Promise<string[]> {
  const given = parseResolvers((await textOf('/etc/resolv.conf')) ?? '')
  const real = given.every((server) => stub.test(server))
    ? parseResolvers((await textOf('/run/systemd/resolve/resolv.conf')) ?? '')
    : []
  return (real.length > 0 ? real : given).slice(0, maxServers)
}

async function attributesOf(name: string) {
  const read = async (attribute: string) => (await textOf(`/sys/class/net/${name}/${attribute}`))?.trim()
  const [type, mac, state, mtu, speed] = await Promise.all(
    ['type', 'address', 'operstate', 'mtu', 'speed'].map(read),
  )
  return { type, mac: mac ?? '', state, mtu: Number(mtu ?? 0), speed: Number(speed ?? 0) }
}

/** RFC 2863 states as the kernel writes them; a driver that tells nothing is `unknown`. */
const stateOf = (operstate: string | undefined): string =>
  operstate === undefined || operstate === 'unknown' ? 'unknown' : operstate === 'up' ? 'up' : 'down'

/** The interfaces of this host but the loopback, by name; its default route, and who answers its questions for names. */
export async function readNetwork(): Promise<svc.v1.Network.$Properties> {
  const [names, route, dnsServers] = await Promise.all([
    readdir('/sys/class/net').catch((): string[] => []),
    defaultRoute(),
    nameServers(),
  ])
  const held = addresses()
  const all = names
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map(async (name): Promise<svc.v1.NetworkInterface.$Properties[]> => {
      const { type, mac, state, mtu, speed } = await attributesOf(name)
      if (type === undefined || type === loopback) return [] // no interface: a file of the bonding driver
      return [
        {
          name,
          macAddress: ethernet.test(mac) && mac !== '00:00:00:00:00:00' ? mac : '',
          addresses: held.get(name) ?? [],
          state: stateOf(state),
          mtu,
          speedMbps: Math.max(0, speed),
          isPrimary: name === route?.device,
        },
      ]
    })
  const interfaces = (await Promise.all(all)).flat().slice(0, maxInterfaces)
  return { interfaces, defaultGateway: route?.gateway ?? '', dnsServers }
}
