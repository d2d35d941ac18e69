import { svc } from '@svc/proto'
import { expect } from 'vitest'
import { randomFrom } from '../../proofs/random.ts'
import type { Voice } from '../harness/voice.ts'
import { numbers } from '../harness/numbers.ts'
import { until } from '../harness/until.ts'
import type { Stage } from './stage.ts'

type Body = Parameters<Voice['say']>[0]

const framesOf = (commandId: string, outcome = svc.v1.Outcome.SUCCEEDED): Body[] => [
  { commandAck: { commandId, attempt: 1 } },
  { commandProgress: { commandId, attempt: 1 } },
  {
    commandResult: {
      commandId,
      attempt: 1,
      outcome,
      exitCode: 0,
      stdout: { data: Buffer.from('once\n'), encoding: 'utf-8', originalSize: 5 },
    },
  },
]

const shuffled = <T>(all: readonly T[], random: () => number): T[] =>
  all
    .map((one) => [random(), one] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, one]) => one)

const rowOf = async ({ system }: Stage, id: string) => {
  const [row] = await system.sql<{ lateResult: { outcome: string; exitCode: number } | null; all: string }[]>`
    select late_result, to_jsonb(c) - 'late_result' as all from commands c where id = ${id}`
  const finished = await system.sql`
    select from outbox where type = 'command.finished' and payload ->> 'commandId' = ${id}`
  return { late: row?.lateResult, rest: JSON.stringify(row?.all), finishedEvents: finished.length }
}

/** Said three times each, in any order: the end is the same, told once, and is not left again. */
export async function shuffledReports(
  stage: Stage,
  via: 'websocket' | 'mqtt',
  rounds: number,
  seed: number,
): Promise<void> {
  const voice = await stage.voice(via)
  const random = randomFrom(seed)
  for (let round = 0; round < rounds; round++) await shuffledRound(stage, voice, random)
}

async function shuffledRound(stage: Stage, voice: Voice, random: () => number): Promise<void> {
  const { deviceId } = voice
  const ids = await Promise.all([1, 2].map(() => stage.script(deviceId, 'echo once', { stdout: 'once\n' })))
  for (const id of ids) {
    await voice.offered(id)
    stage.effects.push({ commandId: id, deviceId })
  }
  const frames = ids.flatMap((id) => framesOf(id))
  for (const frame of shuffled([...frames, ...frames, ...frames], random)) voice.say(frame)
  await Promise.all(ids.map((id) => stage.becomes(id, 'succeeded')))
  // Each of its results is acknowledged, or it would be said for ever.
  const acknowledged = () =>
    voice.of('resultAck').filter(({ commandId }) => ids.includes(commandId ?? '')).length
  await until('each result is acknowledged', () => acknowledged() >= 6)
  for (const id of ids) {
    const { late, finishedEvents } = await rowOf(stage, id)
    expect([late, finishedEvents]).toEqual([null, 1])
  }
}

/** An hour after the server had ended it the device says how it went: that is kept as late, and shown; nothing else changes. */
export async function anHourLate(stage: Stage, via: 'websocket' | 'mqtt'): Promise<void> {
  const { system } = stage
  const voice = await stage.voice(via)
  const { deviceId } = voice
  const id = await stage.script(deviceId, 'echo once', { end: 'timed_out' })
  await voice.offered(id)
  voice.say({ commandAck: { commandId: id, attempt: 1 } })
  await stage.becomes(id, 'delivered')
  await system.sql`
    update commands set created_at = created_at - interval '1 hour', delivered_at = delivered_at - interval '1 hour',
      deadline_at = now() - interval '1 hour' where id = ${id}`
  await stage.becomes(id, 'timed_out')
  stage.effects.push({ commandId: id, deviceId })
  const before = await rowOf(stage, id)
  const frames = framesOf(id)
  for (const frame of [...frames.toReversed(), ...frames, ...framesOf(id, svc.v1.Outcome.FAILED)])
    voice.say(frame)
  // The order to stop says that the server has heard of it, the acknowledgements that it heard the rest.
  await until('all of it is heard', () => voice.of('resultAck').length >= 3)
  const after = await rowOf(stage, id)
  expect(after).toMatchObject({
    rest: before.rest,
    late: { outcome: 'succeeded', exitCode: 0 },
    finishedEvents: 1,
  })
  expect(await stage.api.want(200, 'GET', `/devices/${deviceId}/commands/${id}`)).toMatchObject({
    status: 'timed_out',
    stdout: null,
    lateResult: { outcome: 'succeeded', stdout: { base64: Buffer.from('once\n').toString('base64') } },
  })
}

/** What another device says of it is not believed, and not acknowledged. */
export async function saidByAnother(stage: Stage): Promise<void> {
  const [voice, other] = await Promise.all([stage.voice('websocket'), stage.voice('mqtt')])
  const { deviceId } = voice
  const id = await stage.script(deviceId, 'echo once', { stdout: 'once\n' })
  await voice.offered(id)
  const before = await stage.counted('svc_inbox_reports_total', 'foreign')
  for (const frame of framesOf(id, svc.v1.Outcome.FAILED)) other.say(frame)
  await until(
    'it is counted',
    async () => (await stage.counted('svc_inbox_reports_total', 'foreign')) - before === 3,
  )
  expect(await stage.state(id)).toBe('queued')
  expect(other.of('resultAck')).toEqual([])
  stage.effects.push({ commandId: id, deviceId })
  for (const frame of framesOf(id)) voice.say(frame)
  await stage.becomes(id, 'succeeded')
}

/** Offered and never acknowledged: the same bytes again when the lease is over, at once on a new connection, never after its expiry. */
export async function leases(stage: Stage, via: 'websocket' | 'mqtt'): Promise<void> {
  const { sql } = stage.system
  const first = await stage.voice(via)
  const { deviceId } = first
  const began = Date.now()
  const id = await stage.script(deviceId, 'echo never', { end: 'expired' })
  await first.offered(id)
  await first.offered(id, 2)
  expect(Date.now() - began).toBeGreaterThanOrEqual(numbers.commandLeaseMs - 50)
  const frames = first.of('command')
  expect(frames.map(({ attempt }) => attempt)).toEqual([1, 2])
  expect(new Set(frames.map(({ body }) => Buffer.from(body ?? []).toString('hex'))).size).toBe(1)
  // Whoever is connected anew does not wait for the lease of the connection before.
  await sql`update commands set lease_until = now() + interval '1 hour' where id = ${id}`
  const second = await stage.again(via, stage.tokenOf(deviceId))
  await second.offered(id)
  await sql`update commands set expires_at = now(), lease_until = null where id = ${id}`
  await stage.becomes(id, 'expired')
  const offers = second.offers(id).length
  const beats = second.of('heartbeatAck').length
  await until('two heartbeats are answered', () => second.of('heartbeatAck').length >= beats + 2)
  expect(second.offers(id)).toHaveLength(offers)
}

/** A device that takes a command and says nothing more: the server ends it, within its own time and the grace. */
export async function silence(stage: Stage, via: 'websocket' | 'mqtt', graceMs: number): Promise<void> {
  const voice = await stage.voice(via)
  const { deviceId } = voice
  const payload = { interpreter: 'sh', content: 'sleep 60', timeoutSeconds: 1 }
  const id = await stage.api.send(deviceId, 'run_script', payload)
  stage.accepted.push({ id, deviceId, end: 'timed_out' })
  stage.effects.push({ commandId: id, deviceId })
  await voice.offered(id)
  const began = Date.now()
  voice.say({ commandAck: { commandId: id, attempt: 1 } })
  voice.say({ commandProgress: { commandId: id, attempt: 1 } })
  await stage.becomes(id, 'timed_out')
  const tookMs = Date.now() - began
  expect(tookMs).toBeGreaterThanOrEqual(1_000 + graceMs - 50)
  expect(tookMs).toBeLessThan(1_000 + graceMs + 10_000)
}
