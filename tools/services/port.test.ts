import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { freePort } from './port.ts'

test('a free port can be listened on, and no outgoing connection is ever given it', async () => {
  const port = await freePort()
  expect(port).toBeGreaterThanOrEqual(20_000)
  expect(port).toBeLessThan(32_768)
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  server.close()
})
