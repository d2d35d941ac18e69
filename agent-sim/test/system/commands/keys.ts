import { randomUUID } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import { expect } from 'vitest'
import type { Api, ErrorBody } from '../harness/api.ts'
import { newScript } from '../harness/work.ts'
import type { Stage } from './stage.ts'

type Said = { id: string } & Partial<ErrorBody>

const post = (api: Api, deviceId: string, body: object, key?: string) =>
  api.ask<Said>(
    'POST',
    `/devices/${deviceId}/commands`,
    body,
    key === undefined ? {} : { 'idempotency-key': key },
  )

const rowsOf = async ({ system }: Stage, content: string): Promise<string[]> => {
  const rows = await system.sql<
    { id: string }[]
  >`select id from commands where args ->> 'content' = ${content}`
  return rows.map(({ id }) => id)
}

/** Fifty at once with one key, over both control planes: one command, one answer; another body is refused by either. */
export async function fiftyAtOnce(stage: Stage, deviceId: string): Promise<void> {
  const { payload, stdout } = newScript(0)
  const key = randomUUID()
  const body = { type: 'run_script', payload }
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => post(stage.apis[n % 2 === 0 ? 0 : 1], deviceId, body, key)),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
  expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
  const id = answers[0]?.body.id ?? ''
  expect(await rowsOf(stage, payload.content)).toEqual([id])
  stage.accepted.push({ id, deviceId, stdout })
  stage.asked.push({ deviceId, content: payload.content, key, told: { id } })
  for (const api of stage.apis) {
    const other = await post(api, deviceId, { type: 'run_script', payload: newScript(0).payload }, key)
    expect(other).toMatchObject({ status: 422, body: { error: { code: 'IDEMPOTENCY_MISMATCH' } } })
  }
  // Without the key they are as many commands: nothing else makes them one.
  const plain = newScript(0)
  const separate = await Promise.all(
    stage.apis.map((api) => post(api, deviceId, { type: 'run_script', payload: plain.payload })),
  )
  for (const { body: said } of separate) stage.accepted.push({ id: said.id, deviceId, stdout: plain.stdout })
  expect(await rowsOf(stage, plain.payload.content)).toHaveLength(2)
}

/** The answer is the same for 24 hours; afterwards the key is as new. */
export async function aDay(stage: Stage, deviceId: string): Promise<void> {
  const { payload, stdout } = newScript(0)
  const body = { type: 'run_script', payload }
  const key = randomUUID()
  const age = (interval: string, id: string) => stage.system.sql`
    update idempotency set created_at = now() - ${interval}::interval
    where convert_from(answer, 'UTF8')::jsonb ->> 'id' = ${id}`
  const first = await post(stage.apis[0], deviceId, body, key)
  await age('23 hours 59 minutes', first.body.id)
  expect((await post(stage.apis[1], deviceId, body, key)).body).toEqual(first.body)
  await age('24 hours 1 second', first.body.id)
  const second = await post(stage.apis[1], deviceId, body, key)
  expect(second.status).toBe(201)
  expect(new Set(await rowsOf(stage, payload.content))).toEqual(new Set([first.body.id, second.body.id]))
  for (const { body: said } of [first, second]) stage.accepted.push({ id: said.id, deviceId, stdout })
}

/**
 * The process is killed once it has committed and before its caller hears of it: at the first byte of its answer, which is kept from
 * the caller. Who asks again with the key is told of the command that there is.
 */
export async function crashBeforeTheAnswer(stage: Stage, deviceId: string): Promise<void> {
  const { system, apis } = stage
  const { payload, stdout } = newScript(0)
  const body = { type: 'run_script', payload }
  const key = randomUUID()
  const port = Number(system.controlPlanePorts[1]?.port)
  const silenced = await answersKept(port, () => system.controlPlane(1).kill())
  const caller = apis[1].at(`http://127.0.0.1:${silenced.port}`)
  await expect(post(caller, deviceId, body, key)).rejects.toThrow('fetch failed')
  await silenced.close()
  const [id = '', ...more] = await rowsOf(stage, payload.content)
  expect([id.length, more]).toEqual([36, []])
  expect((await post(apis[0], deviceId, body, key)).body.id).toBe(id)
  await system.startControlPlane(1)
  expect((await post(apis[1], deviceId, body, key)).body.id).toBe(id)
  expect(await rowsOf(stage, payload.content)).toEqual([id])
  stage.accepted.push({ id, deviceId, stdout })
  stage.asked.push({ deviceId, content: payload.content, key, told: { id } })
}

/** A way to a server on which nothing comes back: `answered` is called instead, and then the caller is cut off. */
async function answersKept(port: number, answered: () => Promise<void>) {
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) {
      open.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => open.delete(socket))
    }
    near.pipe(far)
    far.once('data', () => void answered().then(() => near.destroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: own } = server.address() as { port: number }
  return {
    port: own,
    close: () => {
      for (const socket of open) socket.destroy()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
