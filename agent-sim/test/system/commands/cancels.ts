import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { svc } from '@svc/proto'
import { expect } from 'vitest'
import type { ErrorBody } from '../harness/api.ts'
import { untilClean } from '../harness/until.ts'
import { enroll } from '../harness/voice.ts'
import type { Stage } from './stage.ts'

const { SUCCEEDED, CANCELLED } = svc.v1.Outcome

interface Row {
  status: string
  cancelRequestedAt: string | null
  finishedAt: string | null
}

const cancel = (stage: Stage, deviceId: string, id: string) =>
  stage.api.ask<Row & Partial<ErrorBody>>('POST', `/devices/${deviceId}/commands/${id}/cancel`)

const late = async ({ system }: Stage, id: string) => {
  const [row] = await system.sql<{ lateResult: { outcome: string } | null }[]>`
    select late_result from commands where id = ${id}`
  return row?.lateResult?.outcome
}

/** Waits until what is read is as expected; `expect.poll` does not know whose it is among tests that run at the same time. */
async function comes<T>(read: () => T | Promise<T>, expected: (seen: T) => void): Promise<void> {
  await untilClean('what is awaited is seen', async () => {
    try {
      expected(await read())
      return []
    } catch (error) {
      return [(error as Error).message]
    }
  })
}

/** Queued, of a device that is away: it ends at once, and is never offered to who comes back. */
export async function whileQueued(stage: Stage): Promise<void> {
  const device = await enroll(stage.api, stage.system)
  const id = await stage.script(device.deviceId, 'echo no', { end: 'cancelled', mayEnd: ['cancelled'] })
  expect(await cancel(stage, device.deviceId, id)).toMatchObject({
    status: 200,
    body: { status: 'cancelled' },
  })
  const other = await stage.script(device.deviceId, 'echo yes', { end: 'cancelled', mayEnd: ['cancelled'] })
  const voice = await stage.again('mqtt', device)
  await voice.offered(other)
  expect(voice.offers(id)).toEqual([])
  await cancel(stage, device.deviceId, other)
}

/** Offered and not acknowledged: it ends at once; the device is told to stop, and what it did all the same is late. */
export async function whileOffered(stage: Stage, via: 'websocket' | 'mqtt'): Promise<void> {
  const voice = await stage.voice(via)
  const { deviceId } = voice
  const id = await stage.script(deviceId, 'echo offered', { mayEnd: ['cancelled'] })
  await voice.offered(id)
  expect(await stage.state(id)).toBe('queued')
  expect(await cancel(stage, deviceId, id)).toMatchObject({ status: 200, body: { status: 'cancelled' } })
  voice.say({ commandAck: { commandId: id, attempt: 1 } })
  await comes(
    () => voice.of('commandCancel').map(({ commandId }) => commandId),
    (seen) => expect(seen).toEqual([id]),
  )
  stage.effects.push({ commandId: id, deviceId })
  voice.say({ commandResult: { commandId: id, attempt: 1, outcome: SUCCEEDED } })
  await comes(
    () => late(stage, id),
    (seen) => expect(seen).toBe('succeeded'),
  )
  expect(await stage.state(id)).toBe('cancelled')
}

/** Delivered: the device is asked, and what it says is what became of it. */
export async function whileDelivered(stage: Stage, via: 'websocket' | 'mqtt'): Promise<void> {
  const voice = await stage.voice(via)
  const { deviceId } = voice
  const heard = await stage.script(deviceId, 'echo heard', { mayEnd: ['cancelled'] })
  const ignored = await stage.script(deviceId, 'echo ignored', { stdout: 'ignored\n' })
  for (const id of [heard, ignored]) {
    await voice.offered(id)
    voice.say({ commandAck: { commandId: id, attempt: 1 } })
    await stage.becomes(id, 'delivered')
    const answer = await cancel(stage, deviceId, id)
    expect(answer).toMatchObject({ status: 200, body: { status: 'delivered', finishedAt: null } })
    expect(answer.body.cancelRequestedAt).not.toBeNull()
  }
  const asked = () => new Set(voice.of('commandCancel').map(({ commandId }) => commandId))
  await comes(asked, (seen) => expect(seen).toEqual(new Set([heard, ignored])))
  voice.say({ commandResult: { commandId: heard, attempt: 1, outcome: CANCELLED } })
  stage.effects.push({ commandId: ignored, deviceId })
  const stdout = { data: Buffer.from('ignored\n'), encoding: 'utf-8', originalSize: 8 }
  voice.say({ commandResult: { commandId: ignored, attempt: 1, outcome: SUCCEEDED, stdout } })
  await Promise.all([stage.becomes(heard, 'cancelled'), stage.becomes(ignored, 'succeeded')])
}

/** Running, on agents over each transport and on this machine: the work ends, and what it would have done later is not done. */
export async function whileRunning(stage: Stage): Promise<void> {
  const { crowd, host, system } = stage
  const mark = join(system.folder, 'after-cancel')
  const devices = [...crowd.ids.slice(0, 3), host.deviceId]
  const all = devices.map(async (deviceId) => {
    const id = await stage.script(deviceId, `sleep 20\ntouch ${mark}`, { mayEnd: ['cancelled'] })
    await stage.becomes(id, 'running')
    const [first, second] = [await cancel(stage, deviceId, id), await cancel(stage, deviceId, id)]
    for (const answer of [first, second]) expect([200, 409]).toContain(answer.status)
    expect(first).toMatchObject({ status: 200, body: { status: 'running' } })
    await stage.becomes(id, 'cancelled')
    // What has ended stays so, and says so.
    const refused = await cancel(stage, deviceId, id)
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT', details: [{ from: 'cancelled', to: 'cancelled' }] } },
    })
  })
  await Promise.all(all)
  expect(existsSync(mark)).toBe(false)
}

/** Running on a device that is away: asked for all the same, and the device says how it ended when it is back. */
export async function whileAway(stage: Stage, via: 'websocket' | 'mqtt'): Promise<void> {
  const device = await enroll(stage.api, stage.system)
  const before = await stage.again(via, device)
  const { deviceId } = device
  const id = await stage.script(deviceId, 'sleep 5', { mayEnd: ['interrupted'] })
  await before.offered(id)
  before.say({ commandAck: { commandId: id, attempt: 1 } })
  before.say({ commandProgress: { commandId: id, attempt: 1 } })
  stage.effects.push({ commandId: id, deviceId })
  await stage.becomes(id, 'running')
  before.drop()
  expect(await cancel(stage, deviceId, id)).toMatchObject({ status: 200, body: { status: 'running' } })
  const back = await stage.again(via, device)
  const asked = () => back.of('commandCancel').map(({ commandId }) => commandId)
  await comes(asked, (seen) => expect(seen).toContain(id))
  back.say({ commandResult: { commandId: id, attempt: 1, outcome: svc.v1.Outcome.INTERRUPTED } })
  await stage.becomes(id, 'interrupted')
}

/**
 * Cancel and result, one after the other either way and at the same moment: whoever commits first decides how it ended, and the other
 * is on record.
 */
export async function racing(stage: Stage, rounds: number): Promise<void> {
  const voice = await stage.voice('websocket')
  const { deviceId } = voice
  for (let n = 0; n < 3 * rounds; n++) {
    const id = await stage.script(deviceId, `echo race ${n}`, { mayEnd: ['cancelled'] })
    await voice.offered(id)
    stage.effects.push({ commandId: id, deviceId })
    const report = () => voice.say({ commandResult: { commandId: id, attempt: 1, outcome: SUCCEEDED } })
    if (n % 3 === 0) {
      const answer = await cancel(stage, deviceId, id)
      report()
      await cancelFirst(stage, id, answer)
    } else if (n % 3 === 1) {
      report()
      await stage.becomes(id, 'succeeded')
      await resultFirst(stage, id, await cancel(stage, deviceId, id))
    } else {
      report()
      await sleep((n % 5) * 5)
      const answer = await cancel(stage, deviceId, id)
      await (answer.status === 200 ? cancelFirst : resultFirst)(stage, id, answer)
    }
  }
}

type CancelAnswer = Awaited<ReturnType<typeof cancel>>

async function cancelFirst(stage: Stage, id: string, answer: CancelAnswer): Promise<void> {
  expect(answer).toMatchObject({ status: 200, body: { status: 'cancelled' } })
  await comes(
    () => late(stage, id),
    (seen) => expect(seen).toBe('succeeded'),
  )
  expect(await stage.state(id)).toBe('cancelled')
}

async function resultFirst(stage: Stage, id: string, answer: CancelAnswer): Promise<void> {
  const details = [{ from: 'succeeded', to: 'cancelled' }]
  expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT', details } } })
  expect([await stage.state(id), await late(stage, id)]).toEqual(['succeeded', undefined])
}
