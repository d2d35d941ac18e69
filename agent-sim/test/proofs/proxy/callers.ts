import { request } from 'node:http'
import { connect as connectTcp, type Socket } from 'node:net'
import { deviceIdOf, encodeBody, withSeq } from '@svc/proto'
import { MqttClient } from 'mqtt'
import { createWebSocketStream, WebSocket } from 'ws'
import type { Identity } from '../ledgers.ts'

/** From where somebody calls, and what it says of that itself. */
export interface Way {
  /** its address on the loopback network */
  from: string
  /** header lines, several of a name where there are */
  headers?: Record<string, string[]>
  /** what it sends before everything else */
  ahead?: Buffer
}

/** A connection of a device, admitted or not; cut by `drop`. */
export interface Call {
  admitted: boolean
  drop(): void
}

const patienceMs = 5_000

const socketFrom = (port: number, { from, ahead }: Way): Socket => {
  const socket = connectTcp({ port, host: '127.0.0.1', localAddress: from })
  if (ahead) socket.write(ahead)
  return socket
}

/** Enrolls a device; resolves with who it is. */
export const enrollFrom = (url: string, body: object, { from, headers }: Way): Promise<Identity> =>
  new Promise((resolve, reject) => {
    const json = { 'content-type': 'application/json', ...headers }
    const to = `${url}/api/v1/agents/enroll`
    const asked = request(
      to,
      { method: 'POST', localAddress: from, headers: json, agent: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (more: string) => (text += more))
        response.on('end', () => {
          if (response.statusCode === 201) resolve(JSON.parse(text) as Identity)
          else reject(new Error(`enrollment answered ${response.statusCode}: ${text}`))
        })
      },
    )
    asked.on('error', reject)
    asked.end(JSON.stringify(body))
  })

/** Says Hello over WebSocket. @param pongs whether it answers the server's pings */
export const webSocketFrom = (
  port: number,
  { deviceToken }: Identity,
  way: Way,
  pongs = true,
): Promise<Call & { closed: Promise<void> }> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/agent`, 'svc.agent.v1', {
    headers: { ...way.headers, authorization: `Bearer ${deviceToken}` } as unknown as Record<string, string>,
    createConnection: () => socketFrom(port, way),
    autoPong: pongs,
  })
  const hello = { protocolMin: 1, protocolMax: 1, agentVersion: '0.0.0', os: 'linux', arch: 'amd64' }
  socket.on('open', () => socket.send(withSeq(1, encodeBody({ hello }))))
  return begun(socket, 'message', 'close', () => socket.terminate())
}

export interface MqttWay extends Way {
  /** over WebSocket instead of TCP */
  overWebSocket?: boolean
  /** seconds; 0: it never pings */
  keepalive?: number
  /** whether it pings as it said it would */
  pings?: boolean
  /** whether it answers the server's pings, over WebSocket */
  pongs?: boolean
}

/** Connects and subscribes over MQTT. */
export const mqttFrom = (
  port: number,
  { deviceToken }: Identity,
  way: MqttWay,
): Promise<Call & { closed: Promise<void> }> => {
  const deviceId = deviceIdOf(deviceToken) ?? ''
  const login = { clientId: deviceId, username: deviceId, password: deviceToken, protocolVersion: 4 as const }
  const { keepalive = 0 } = way
  const wire = () => (way.overWebSocket ? overWebSocket(port, way) : socketFrom(port, way))
  const client = new MqttClient(wire, {
    ...login,
    keepalive,
    reconnectPeriod: 0,
    connectTimeout: patienceMs,
    ...(way.pings === false && { timerVariant: stopped }),
  })
  return begun(client, 'connect', 'close', () => client.end(true))
}

/** The clock of a client that has died: it neither pings nor gives up by itself. */
const stopped = { set: () => 0, clear: () => {} } as never

const overWebSocket = (port: number, way: MqttWay) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mqtt`, 'mqtt', {
    headers: (way.headers ?? {}) as unknown as Record<string, string>,
    createConnection: () => socketFrom(port, way),
    autoPong: way.pongs ?? true,
  })
  const stream = createWebSocketStream(socket)
  socket.once('close', () => stream.destroy())
  return stream as never
}

interface Emitter {
  once(event: string, listener: () => void): unknown
  on(event: string, listener: (error: Error) => void): unknown
}

/** Resolves when it is admitted, or has ended, or neither has happened in time. */
const begun = (
  source: Emitter,
  admitted: string,
  ended: string,
  drop: () => void,
): Promise<Call & { closed: Promise<void> }> =>
  new Promise((resolve) => {
    const closed = new Promise<void>((done) => source.once(ended, done))
    source.on('error', () => {}) // its end follows
    const answer = (is: boolean) => resolve({ admitted: is, drop, closed })
    const late = setTimeout(answer, patienceMs, false)
    source.once(admitted, () => answer(true))
    void closed.then(() => {
      clearTimeout(late)
      answer(false)
    })
  })
