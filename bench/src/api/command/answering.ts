/**
 * Agents that hold a connection and answer: a command is acknowledged and has succeeded at once, so that what is left is the way. A program of
 * its own, which serves calls.
 */
import { connect } from 'node:net'
import { decodeEnvelope, encodeBody, svc, withSeq } from '@svc/proto'
import { median } from '../load/percentile.ts'
import { serveCalls } from '../../wire/serve.ts'
import { Connection, type Identity } from '../../wire/connection.ts'

const underWay = 200
const patienceMs = 120_000
const beatEveryMs = 60_000

const connections: Connection[] = []
const ends = new Map<string, number>()
let live = 0
let commands = 0
let beating: NodeJS.Timeout | undefined
/** told of the answer to a heartbeat that somebody waits for */
let answered: (() => void) | undefined

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const listener = {
  live: () => void live++,
  delivered: take,
  answered: () => answered?.(),
  ended: (connection: Connection, why: string) => {
    if (connection.isLive) live--
    ends.set(why, (ends.get(why) ?? 0) + 1)
  },
}

function check(): void {
  const told = [...ends].map(([why, count]) => `${count} connections: ${why}`)
  if (told.length > 0) throw new Error(told.join('; '))
}

function take(connection: Connection, envelope: Buffer): void {
  const { command } = decodeEnvelope(envelope)
  if (!command?.body) return
  commands++
  const { commandId } = svc.v1.CommandBody.decode(command.body)
  const attempt = command.attempt ?? 1
  const now = Date.now()
  const stdout = { data: Buffer.from('done\n'), encoding: 'utf-8', originalSize: 5 }
  connection.say(withSeq(3, encodeBody({ commandAck: { commandId, attempt } })))
  const result = { commandId, attempt, outcome: svc.v1.Outcome.SUCCEEDED, exitCode: 0, stdout }
  connection.say(
    withSeq(4, encodeBody({ commandResult: { ...result, startedAtMs: now, finishedAtMs: now } })),
  )
}

function dial(port: number, identity: Identity): void {
  const socket = connect({ host: '127.0.0.1', port })
  const connection = new Connection(socket, 'svc', identity, {}, listener)
  connections.push(connection)
  socket.once('connect', () => connection.open())
}

/** Each beats once a minute, spread over it, as agents do. */
function beat(): void {
  const everyMs = 20
  let owed = 0
  let next = 0
  beating = setInterval(() => {
    for (owed += (connections.length * everyMs) / beatEveryMs; owed >= 1; owed--)
      connections[next++ % connections.length]?.beat(performance.now())
  }, everyMs)
}

serveCalls({
  connect: async ({ port, identities, perSecond }: ConnectOptions) => {
    const begun = performance.now()
    for (const identity of identities) {
      while (connections.length - live >= underWay) await pause(1)
      while (connections.length > ((performance.now() - begun) / 1_000) * perSecond) await pause(1)
      check()
      dial(port, identity)
    }
    for (const until = performance.now() + patienceMs; live < identities.length; await pause(5)) {
      check()
      if (performance.now() > until) throw new Error(`${live} of ${identities.length} are connected`)
    }
    beat()
  },
  /** How many commands have come; fails when a connection was lost. */
  taken: () => {
    check()
    return commands
  },
  /** ms from a heartbeat to its answer, the median of so many, one after the other, while no other beats. */
  roundTrip: async ({ count }: { count: number }) => {
    clearInterval(beating)
    await pause(200) // for answers that are on their way
    const took: number[] = []
    for (let at = 0; at < count; at++) {
      const began = performance.now()
      await new Promise<void>((resolve) => {
        answered = resolve
        connections[at % connections.length]?.beat(began)
      })
      took.push(performance.now() - began)
    }
    answered = undefined
    beat()
    check()
    return median(took)
  },
})

export interface ConnectOptions {
  port: number
  identities: readonly Identity[]
  perSecond: number
}
