import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
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

test('no port is given twice, at once or later, nor to two processes that live at once', async () => {
  const script = `import { freePort } from ${JSON.stringify(new URL('./port.ts', import.meta.url).href)}
    const ports = await Promise.all(Array.from({ length: 100 }, () => freePort()))
    console.log(ports.join())
    process.stdin.resume()`
  const other = async () => {
    const running = promisify(execFile)(process.execPath, [
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      script,
    ])
    // It lives, and holds what it was given, until the others have drawn.
    running.child.stdout?.once('data', () => setTimeout(() => running.child.stdin?.end(), 500))
    return (await running).stdout.trim().split(',').map(Number)
  }
  const own = Promise.all(Array.from({ length: 100 }, () => freePort()))
  const given = (await Promise.all([own, other(), other()])).flat()
  expect(given).toHaveLength(300)
  expect(new Set([...given, await freePort()]).size).toBe(301)
})
