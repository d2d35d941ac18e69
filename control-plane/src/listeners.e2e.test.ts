import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { drainApp, listenApp } from './listeners.ts'

test('who comes while it closes, after the first cut, is cut too', async () => {
  const app = fastify()
  app.post('/', async () => 'done')
  let late: Socket | undefined
  app.addHook('preClose', async () => {
    await sleep(150) // it still listens
    late = connect(Number(new URL(url).port), '127.0.0.1')
    late.on('error', () => undefined)
    await once(late, 'connect')
    late.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-')
    await sleep(50)
  })
  const url = await listenApp(app, { host: '127.0.0.1', port: 0, variable: 'PORT' })
  await drainApp(app, 100)
  await expect.poll(() => late?.destroyed).toBe(true)
})
