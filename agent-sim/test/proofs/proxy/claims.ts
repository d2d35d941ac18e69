import type { System } from '../../system/harness/system.ts'
import { until } from '../../system/harness/until.ts'
import type { Identity } from '../ledgers.ts'
import { none, type Row } from '../verdict.ts'
import { enrollFrom, mqttFrom, type Way, webSocketFrom } from './callers.ts'

/** Where one can knock: at the proxy's doors, or past it at the servers themselves. */
export interface Doors {
  http: number
  /** upgrades that go through with PROXY v2 */
  agents: number
  mqtt: number
  controlPlane: number
  gateway: number
  gatewayMqtt: number
}

/** RFC 5737: nobody calls from there. */
const [someone, another] = ['203.0.113.66', '203.0.113.67']

/** PROXY v2 on behalf of `someone`. */
const proxyHeader = Buffer.concat([
  Buffer.from('0d0a0d0a000d0a515549540a' + '2111000c', 'hex'),
  Buffer.from(someone.split('.').map(Number)),
  Buffer.from('7f000001' + '3039' + '20fb', 'hex'),
])

const lies: Record<string, Record<string, string[]>> = {
  'without a word': {},
  'X-Forwarded-For': { 'X-Forwarded-For': [someone] },
  'X-Forwarded-For in two lines': { 'X-Forwarded-For': [someone, another] },
  'X-Forwarded-For and no address': { 'X-Forwarded-For': [someone, 'unknown'] },
  Forwarded: { Forwarded: [`for=${someone}`] },
  'X-Real-IP': { 'X-Real-IP': [someone] },
}
const pastIt = 'past the proxy'
const everyLie = Object.assign({}, ...Object.values(lies)) as Record<string, string[]>

interface Attempt {
  what: string
  way: Way
  call: (identity: Identity, way: Way) => Promise<{ admitted: boolean; drop(): void }>
  /** turned away, and never heard of */
  refused?: boolean
}

/**
 * Devices call from addresses of their own and say something else: over HTTP, WebSocket and MQTT, through the proxy and past it. What
 * is kept of them must be where they called from.
 */
export async function claimRows(system: System, doors: Doors): Promise<Row[]> {
  let host = 1
  const next = () => `127.0.1.${(host += 1)}`
  const enroll = (url: string, way: Way) =>
    enrollFrom(
      url,
      {
        enrollmentKey: system.tenant.enrollmentKey,
        hostname: `liar-${way.from.replaceAll('.', '-')}`,
        osType: 'linux',
        architecture: 'amd64',
        agentVersion: '0.0.0',
      },
      way,
    )
  const through = `http://127.0.0.1:${doors.http}`
  const enrollments: { what: string; url: string; way: Way }[] = [
    ...Object.entries(lies).map(([what, headers]) => ({
      what: `HTTP, ${what}`,
      url: through,
      way: { from: next(), headers },
    })),
    {
      what: `HTTP ${pastIt}, every lie`,
      url: `http://127.0.0.1:${doors.controlPlane}`,
      way: { from: next(), headers: everyLie },
    },
  ]
  const attempts = attemptsAt(doors, next)
  const found = await Promise.all([
    ...enrollments.map(async ({ what, url, way }) => {
      const { deviceId } = await enroll(url, way)
      return { what, faults: wrong(what, way.from, await keptOf(system, deviceId, 'enrollment')) }
    }),
    ...attempts.map(async (attempt) => {
      const identity = await enroll(through, { from: attempt.way.from })
      return { what: attempt.what, faults: await outcome(system, attempt, identity) }
    }),
  ])
  const past = found.filter(({ what }) => what.includes(pastIt))
  const rest = found.filter(({ what }) => !what.includes(pastIt))
  const rowOf = (title: string, some: typeof found) => {
    if (some.length === 0) throw new Error(`nothing was tried: ${title}`)
    return none(
      `${title}, of ${some.length}`,
      some.flatMap(({ faults }) => faults),
    )
  }
  return [
    ...['HTTP', 'WebSocket', 'MQTT'].map((name) =>
      rowOf(
        `callers through the proxy over ${name} that are taken for others`,
        rest.filter(({ what }) => what.startsWith(name)),
      ),
    ),
    rowOf('callers past the proxy that are believed', past),
  ]
}

function attemptsAt(doors: Doors, next: () => string): Attempt[] {
  const webSocket =
    (port: number): Attempt['call'] =>
    (identity, way) =>
      webSocketFrom(port, identity, way)
  const mqtt =
    (port: number, overWebSocket = false): Attempt['call'] =>
    (identity, way) =>
      mqttFrom(port, identity, { ...way, overWebSocket })
  const lying = { headers: everyLie }
  const forged = { ahead: proxyHeader }
  const all: (Omit<Attempt, 'way'> & { way: Omit<Way, 'from'> })[] = [
    ...Object.entries(lies).map(([what, headers]) => ({
      what: `WebSocket, ${what}`,
      way: { headers },
      call: webSocket(doors.http),
    })),
    { what: 'WebSocket by PROXY v2, every lie', way: lying, call: webSocket(doors.agents) },
    { what: `WebSocket ${pastIt}, every lie`, way: lying, call: webSocket(doors.gateway) },
    { what: `WebSocket ${pastIt}, forged PROXY v2`, way: forged, call: webSocket(doors.gateway) },
    { what: 'MQTT over WebSocket, every lie', way: lying, call: mqtt(doors.http, true) },
    { what: 'MQTT by PROXY v2', way: {}, call: mqtt(doors.mqtt) },
    { what: 'MQTT, a second PROXY v2', way: forged, call: mqtt(doors.mqtt), refused: true },
    { what: `MQTT ${pastIt}`, way: {}, call: mqtt(doors.gatewayMqtt) },
    {
      what: `MQTT ${pastIt}, forged PROXY v2`,
      way: forged,
      call: mqtt(doors.gatewayMqtt),
      refused: true,
    },
  ]
  return all.map((attempt) => ({ ...attempt, way: { ...attempt.way, from: next() } }))
}

const knownWithinMs = 5_000

/** What is wrong with it, if something is. */
async function outcome(system: System, attempt: Attempt, identity: Identity): Promise<string[]> {
  const { what, way, call, refused = false } = attempt
  const made = await call(identity, way)
  try {
    if (made.admitted === refused) return [`${what}: ${refused ? 'let in' : 'turned away'}`]
    const kept = () => keptOf(system, identity.deviceId, 'contact')
    if (refused) return (await kept()) === null ? [] : [`${what}: counts as ${await kept()}`]
    let seen: string | null = null
    await until('it is known', async () => (seen = await kept()) !== null, knownWithinMs).catch(() => {})
    return wrong(what, way.from, seen)
  } finally {
    made.drop()
  }
}

const wrong = (what: string, from: string, kept: string | null): string[] =>
  kept === from ? [] : [`${what}: called from ${from}, counts as ${kept}`]

/** The address that is kept of a device's enrollment, or of its latest contact on a connection. */
async function keptOf(
  { sql }: System,
  deviceId: string,
  of: 'enrollment' | 'contact',
): Promise<string | null> {
  const [row] = await sql<{ enrollment: string | null; contact: string | null }[]>`
    select host(enrollment_ip) as enrollment, host(last_seen_ip) as contact from devices where id = ${deviceId}`
  return row?.[of] ?? null
}
