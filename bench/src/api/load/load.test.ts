import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { loopDelay } from '../stage/loop-delay.ts'
import { Client } from './client.ts'
import { openLoad } from './open-loop.ts'
import { median, percentile } from './percentile.ts'
import { saturate, WrongAnswer } from './saturate.ts'

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const load = (url: string) => ({
  url,
  requests: [{ method: 'GET', path: '/' } as const],
  headers: {},
  connections: 2,
  length: { count: 40 },
  status: 200,
})

test('answers are counted while all are the right ones', async () => {
  let served = 0
  const url = await serve((_request, response) => {
    served++
    response.end('yes')
  })
  expect(await saturate(load(url))).toBe(40)
  expect(served).toBe(40)
})

test('one wrong answer among the right ones, and there is no figure', async () => {
  let served = 0
  const url = await serve((_request, response) => {
    response.statusCode = ++served === 10 ? 503 : 200
    response.end()
  })
  await expect(saturate(load(url))).rejects.toThrow(WrongAnswer)
  await expect(saturate({ ...load(url), status: 201 })).rejects.toThrow(
    /must answer 201 and answered 40 × 200/,
  )
})

test('nobody who answers is no figure either', async () => {
  const url = await serve((request) => request.socket.destroy())
  await expect(saturate(load(url))).rejects.toThrow(WrongAnswer)
})

test('a caller takes no other status than the one it asks for', async () => {
  const url = await serve((request, response) => {
    response.statusCode = request.url === '/there' ? 200 : 404
    response.end('{"a":1}')
  })
  const client = new Client(url)
  onTestFinished(() => client.close())
  expect(await client.json(200, 'GET', '/there')).toEqual({ a: 1 })
  await expect(client.ask(200, 'GET', '/gone')).rejects.toThrow('GET /gone: 404 instead of 200')
})

test('what a server is late with counts for the requests behind it', async () => {
  let free = Promise.resolve()
  // One after the other, and the first takes 200 ms: those that were to begin meanwhile wait for it.
  const ask = (number: number) => (free = free.then(() => sleep(number === 0 ? 200 : 0)))
  const took = await openLoad({ perSecond: 100, seconds: 0.1, ask })
  expect(took).toHaveLength(10)
  expect(Math.min(...took)).toBeGreaterThan(80)
})

test('a load ends with the first request that fails', async () => {
  let asked = 0
  const ask = () => {
    asked++
    return Promise.reject(new Error('no'))
  }
  await expect(openLoad({ perSecond: 100, seconds: 0.2, ask })).rejects.toThrow('no')
  expect(asked).toBeLessThan(10)
})

test('percentiles are values that occurred', () => {
  const values = Array.from({ length: 100 }, (_, at) => 100 - at)
  expect([percentile(values, 0.99), percentile(values, 1), median([3, 1, 2])]).toEqual([99, 100, 2])
  expect(() => median([])).toThrow('nothing')
})

test('the event loop is late by what is over the interval at which it looks', async () => {
  const lines = 'nodejs_eventloop_lag_max_seconds 0.0345\nnodejs_eventloop_lag_p99_seconds 0.0125\n'
  const url = await serve((_request, response) => response.end(lines))
  const { p99, max } = await loopDelay(url)
  expect([p99.toFixed(1), max.toFixed(1)]).toEqual(['2.5', '24.5'])
  const mute = await serve((_request, response) => response.end('something_else 1\n'))
  await expect(loopDelay(mute)).rejects.toThrow('tells no event-loop delay')
})
