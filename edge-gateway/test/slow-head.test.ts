import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { start, ws } from './transports.ts'

/** How long a connection lasts whose request never ends; infinite where it is still there after `patienceMs`. */
const lasts = async (url: string, words: string, patienceMs: number): Promise<number> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  const began = performance.now()
  const ended = new Promise<number>((resolve) => socket.on('close', () => resolve(performance.now() - began)))
  socket.resume()
  socket.write(words)
  const late = sleep(patienceMs, Number.POSITIVE_INFINITY, { ref: false })
  return Promise.race([ended, late]).finally(() => socket.destroy())
}

it.each([
  ['says nothing more', 'GET /agent HTTP/1.1\r\nHost: x\r\n'],
  ['never ends its body', 'GET /agent HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n'],
])('without uWebSockets.js, too, a stranger that %s is ended', async (_, words) => {
  const { url } = await start(ws({ helloWithinMs: 300 }))
  expect(await lasts(url, words, 15_000)).toBeLessThan(15_000)
})
