import { setTimeout as sleep } from 'node:timers/promises'
import type { Identity } from '../ledgers.ts'
import { type Row, within } from '../verdict.ts'
import { mqttFrom, type Way, webSocketFrom } from './callers.ts'
import type { Doors } from './claims.ts'

const way: Way = { from: '127.0.2.1' }
/** The gateway's timers are that coarse, and this machine may be busy. */
export const slackMs = 6_000

export interface SilencePace {
  /** the gateway's, for WebSockets */
  idleSeconds: number
  /** what an agent over TCP asks for */
  keepaliveSeconds: number
  /** over these; little where nothing is cut, however long it is waited for */
  slackMs: number
}

/**
 * Peers that hold their connection and answer nothing, past the proxy, which would cut them, too: until the gateway did so.
 *
 * @param identities three of them
 */
export async function silenceRows(
  doors: Doors,
  identities: readonly Identity[],
  pace: SilencePace,
): Promise<Row[]> {
  const [one, two, three] = identities
  if (!one || !two || !three) throw new Error('three devices are needed')
  const { idleSeconds, keepaliveSeconds, slackMs } = pace
  const keepalive = { keepalive: keepaliveSeconds }
  const [webSocket, overWebSocket, tcp] = await Promise.all([
    cutAfter(await webSocketFrom(doors.gateway, one, way, false), idleSeconds * 1000 + slackMs),
    cutAfter(
      await mqttFrom(doors.gateway, two, { ...way, overWebSocket: true, pongs: false }),
      idleSeconds * 1000 + slackMs,
    ),
    cutAfter(
      await mqttFrom(doors.gatewayMqtt, three, { ...way, ...keepalive, pings: false }),
      1.5 * keepaliveSeconds * 1000 + slackMs,
    ),
  ])
  return [
    within('a dead peer over WebSocket, of either protocol, is cut', idleSeconds * 1000 + slackMs, [
      webSocket,
      overWebSocket,
    ]),
    // MQTT 3.1.1 §3.1.2.10: one and a half times what it asked for.
    within('a dead peer over MQTT and TCP is cut', 1.5 * keepaliveSeconds * 1000 + slackMs, [tcp]),
  ]
}

async function cutAfter(
  call: { admitted: boolean; closed: Promise<void>; drop(): void },
  patienceMs: number,
): Promise<number> {
  if (!call.admitted) throw new Error('a device was not let in')
  const began = performance.now()
  const late = new AbortController()
  const cut = await Promise.race([
    call.closed.then(() => true),
    sleep(patienceMs, false, { signal: late.signal }).catch(() => false),
  ])
  late.abort()
  call.drop()
  return cut ? performance.now() - began : Number.POSITIVE_INFINITY
}
