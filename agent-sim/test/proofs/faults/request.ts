import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newScript } from '../../system/harness/work.ts'
import type { Scene } from './scene.ts'

/** A request for work that a fault strikes, repeated with its key as long as it takes. */
export interface Request {
  deviceId: string
  key: string
  content: string
  askedAt: number
}

/** What was answered; undefined: nothing that is an answer. */
export interface Answered {
  status: number
  id: string | undefined
}

const againEveryMs = 250
const patienceMs = 60_000

export const newRequest = (deviceId: string): Request => ({
  deviceId,
  key: randomUUID(),
  content: newScript(0).payload.content,
  askedAt: Date.now(),
})

/** The statement that makes it, among all others. */
export const statementOf = ({ content }: Request): RegExp =>
  new RegExp(`insert into commands[^]*${JSON.stringify(content).slice(1, -1).replaceAll('\\', '\\\\')}`)

/** Asks once. */
export const ask = (scene: Scene, { deviceId, key, content }: Request): Promise<Answered | undefined> =>
  scene.api
    .ask<{ id?: string } | undefined>(
      'POST',
      `/devices/${deviceId}/commands`,
      { type: 'run_script', payload: { interpreter: 'sh', content } },
      { 'idempotency-key': key },
    )
    .then(
      ({ status, body }) => ({ status, id: body?.id }),
      () => undefined, // no answer: what came of it is asked for again
    )

/** Asks until it is accepted; its id. The checker knows of it. */
export async function insist(scene: Scene, request: Request): Promise<string> {
  for (const until = Date.now() + patienceMs; Date.now() < until; await sleep(againEveryMs)) {
    const answer = await ask(scene, request)
    if (answer?.status !== 201 || !answer.id) continue
    const { deviceId, askedAt, content, key } = request
    scene.accept({ id: answer.id, deviceId, askedAt }, { content, key })
    return answer.id
  }
  throw new Error('a request was never accepted')
}

/** The commands that there are by it. */
export async function madeBy({ system }: Scene, { deviceId, content }: Request): Promise<string[]> {
  const rows = await system.sql<{ id: string }[]>`
    select id from commands where device_id = ${deviceId} and args ->> 'content' = ${content}`
  return rows.map(({ id }) => id)
}
