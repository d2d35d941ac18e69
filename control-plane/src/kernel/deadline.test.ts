import fastify from 'fastify'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { goneSignal, withDeadline } from './deadline.ts'
import { answerErrors } from './failures.ts'

/** What is answered to a request with a body, and without one, by this handler. */
async function answers(ms: number, handler: (gone: AbortSignal) => Promise<string>) {
  const app = fastify()
  app.setErrorHandler(answerErrors)
  app.all('/', (_request, reply) => withDeadline(reply, ms, () => handler(goneSignal(reply))))
  const seen = [
    await app.inject({ method: 'POST', url: '/', payload: { some: 'body' } }),
    await app.inject('/'),
  ]
  await app.close()
  return seen
}

test('who does not answer in time is answered for, with a body in the request and without', async () => {
  const signals: AbortSignal[] = []
  const late = await answers(20, async (gone) => {
    signals.push(gone)
    await sleep(80)
    return 'late'
  })
  expect(late.map(({ statusCode }) => statusCode)).toEqual([503, 503])
  expect(late[0]?.json().error).toMatchObject({ code: 'UNAVAILABLE' })
  expect(late[0]?.headers['retry-after']).toBe('2')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
})

test('a body that has been read is nobody who hung up', async () => {
  const seen = await answers(1_000, async (gone) => {
    await sleep(20)
    return gone.aborted ? 'gone' : 'there'
  })
  expect(seen.map(({ body }) => body)).toEqual(['there', 'there'])
})

test('who hangs up is gone, also before anybody asked', async () => {
  const app = fastify()
  const seen: boolean[] = []
  app.post('/', async (_request, reply) => {
    const before = goneSignal(reply)
    reply.hijack()
    reply.raw.destroy()
    await sleep(5)
    seen.push(before.aborted, goneSignal(reply).aborted)
  })
  await app.inject({ method: 'POST', url: '/', payload: {} }).catch(() => undefined) // hung up on
  await sleep(20)
  expect(seen).toEqual([true, true])
  await app.close()
})
