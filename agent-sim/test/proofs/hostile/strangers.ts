import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDeviceToken } from '@svc/proto'
import { none, type Row, seconds } from '../verdict.ts'
import type { Transport } from './model.ts'
import type { Peer } from './peer.ts'
import { memoryOf, type Processes } from './processes.ts'
import type { Scene } from './scene.ts'

/** Of so many, as many as of the others come over this one. */
const shares: readonly Transport[] = ['websocket', 'mqtt', 'websocket', 'mqtt-ws']
/** No address of theirs has more of them than an office. */
const perAddress = 200
const atOnce = 256
const lookEveryMs = 100
const perPeerBytes = 20_000
/** Five seconds, the timers behind them, and as much again for a busy machine. */
const goneWithinMs = 15_000

/** Connections that come and never say who they are: what each costs while all are there, and how they end. */
export async function strangers(
  scene: Scene,
  processes: Processes,
  count: number,
  judged: boolean,
): Promise<Row[]> {
  const peers: Peer[] = []
  const before = memoryOf(processes)
  const looks: { open: number; bytes: number }[] = []
  const looking = setInterval(() => {
    looks.push({ open: peers.filter(({ isOver }) => !isOver).length, bytes: memoryOf(processes) })
  }, lookEveryMs)
  const began = performance.now()
  try {
    const missing = await come(scene, count, peers)
    // One after the other, as they would come: not all in one turn of an event loop.
    for (const [n, peer] of peers.entries()) {
      void peer.upgrade()
      if (n % atOnce === 0) await sleep(lookEveryMs / 2)
    }
    const arrivedMs = performance.now() - began
    await sleep(2 * lookEveryMs)
    for (const until = performance.now() + goneWithinMs; performance.now() < until; await sleep(lookEveryMs))
      if (peers.every(({ isOver }) => isOver)) break
    return [
      ...rowsOf(peers, before, looks, count, judged, arrivedMs),
      none('strangers that could not connect', missing),
    ]
  } finally {
    clearInterval(looking)
    for (const peer of peers) peer.reset()
  }
}

/** Opens all of them; those over WebSocket ask for nothing yet, as a head of a request may take longer than a Hello. */
async function come(scene: Scene, count: number, peers: Peer[]): Promise<string[]> {
  const missing: string[] = []
  const order = Array.from({ length: count }, (_, n) => shares[n % shares.length] ?? 'websocket')
  // Who has the least time comes last.
  order.sort((a, b) => Number(a === 'mqtt') - Number(b === 'mqtt'))
  let next = 0
  const lane = async () => {
    for (let n = next++; n < count; n = next++) {
      const deviceId = randomUUID()
      const identity = { deviceId, deviceToken: makeDeviceToken(deviceId) }
      const address = `127.0.1.${1 + Math.floor(n / perAddress)}`
      await scene.open(order[n] ?? 'mqtt', identity, address).then(
        (peer) => peers.push(peer),
        (error: Error) => missing.push(error.message),
      )
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return missing
}

function rowsOf(
  peers: readonly Peer[],
  before: number,
  looks: readonly { open: number; bytes: number }[],
  count: number,
  judged: boolean,
  arrivedMs: number,
): Row[] {
  const most = looks.reduce((a, b) => (b.open > a.open ? b : a), { open: 0, bytes: before })
  const each = (most.bytes - before) / most.open
  const counts = new Map<string, number>()
  for (const peer of peers) {
    const end = peer.isOver ? (peer.reason ?? (peer.seen.status === 503 ? 'HTTP 503' : 'no word')) : 'open'
    const key = `${peer.transport}: ${end}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const right = new Set([
    'websocket: ADMISSION_TIMEOUT',
    'mqtt-ws: ADMISSION_TIMEOUT',
    'mqtt: no word',
    'websocket: HTTP 503',
    'mqtt-ws: HTTP 503',
  ])
  const wrong = [...counts].flatMap(([end, many]) => (right.has(end) ? [] : [`${many} ${end}`]))
  return [
    {
      what: `strangers at a time that never say who they are; all came within ${seconds(arrivedMs)}`,
      expected: judged ? `≥ ${count}` : 'is measured',
      seen: String(most.open),
      pass: !judged || most.open >= count,
    },
    {
      what: 'what each of them costs the gateway, by resident memory',
      expected: judged ? `< ${perPeerBytes} bytes` : 'is measured',
      seen: `${each.toFixed(0)} bytes`,
      pass: !judged || each < perPeerBytes,
    },
    {
      ...none('strangers that did not end as they must', wrong),
      seen: `${wrong.length ? `FAULTS ${wrong.join(', ')}; ` : ''}${[...counts].map(([end, many]) => `${many} ${end}`).join(', ')}`,
    },
  ]
}
