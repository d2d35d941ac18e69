import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { startRedis } from '../../tools/services.ts'
import { ControlPlane } from '../test/control-plane.ts'
import { until } from '../test/harness.ts'
import { run } from '../test/program.ts'
import { connect, dialSocket, newDevice } from '../test/wire.ts'

let plane: ControlPlane
beforeAll(async () => {
  plane = await new ControlPlane().start()
})
afterAll(() => plane.stop())

const settings = () => ({
  REDIS_URL: inject('redisUrl'),
  EXCHANGE_URL: plane.url,
  EDGE_SHARED_KEY: plane.key,
})

describe('the gateway process', () => {
  it.each([
    ['REDIS_URL', { EDGE_SHARED_KEY: 'k'.repeat(32) }],
    ['EDGE_SHARED_KEY', {}],
    [
      'TLS_CERT_FILE',
      {
        EDGE_SHARED_KEY: 'k'.repeat(32),
        REDIS_URL: 'redis://127.0.0.1:1',
        TLS_CERT_FILE: '/x',
        TLS_KEY_FILE: '/x',
      },
    ],
  ])('ends with one line and code 78 when %s is wrong', async (name, env) => {
    const program = run(env as Record<string, string>)
    expect(await program.exited).toBe(78)
    expect(program.err).toMatch(new RegExp(`^${name}[^\\n]*\\n$`))
  })

  it('ends with one line that names a port in use and its variable', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    const program = run({ ...settings(), GATEWAY_PORT: String(port) })
    expect(await program.exited).toBe(1)
    expect(program.err).toMatch(
      new RegExp(`^cannot listen on 127.0.0.1 port ${port}: set GATEWAY_PORT[^\\n]*\\n$`),
    )
    taken.close()
  })

  it('drains and ends also when nobody reads its log any more', async () => {
    const program = run(settings())
    await program.listening()
    program.unread()
    program.kill('SIGTERM')
    expect(await program.exited).toBe(0)
  })

  it('says why the bus cannot be used, once, and no password', async () => {
    const refusing = new URL(settings().REDIS_URL)
    refusing.username = 'nobody'
    refusing.password = 'Qx7-not-this-one'
    const program = run({ ...settings(), REDIS_URL: refusing.href })
    const { err } = await program.said('the bus cannot be used')
    expect(err).toMatchObject({ message: expect.stringMatching(/WRONGPASS|no password/) })
    await program.listening()
    expect(program.lines('the bus cannot be used')).toHaveLength(1)
    expect(program.out).not.toContain('Qx7-not-this-one')
  })

  it('never shares a port with another gateway', async () => {
    const first = run(settings())
    const { port } = new URL(await first.listening())
    const second = run({ ...settings(), GATEWAY_PORT: port })
    expect(await second.exited).toBe(1)
    expect(second.err).toContain(`port ${port}: set GATEWAY_PORT`)
    first.kill('SIGTERM')
    expect(await first.exited).toBe(0)
  })

  it.each(['SIGTERM', 'SIGHUP'] as const)('drains on %s and ends with 0', async (signal) => {
    const program = run(settings())
    const device = newDevice()
    plane.knows(device)
    const agent = await connect(dialSocket(await program.listening()), device)
    await agent.greet()
    program.kill(signal)
    expect((await agent.next()).move).toBeTruthy()
    agent.peer.close()
    expect(await program.exited).toBe(0)
  })

  it('drains and ends with 0 while Redis hangs', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'svc-edge-'))
    const redis = await startRedis({ dir })
    onTestFinished(async () => {
      await redis.kill()
      rmSync(dir, { recursive: true, force: true })
    })
    const program = run({ ...settings(), REDIS_URL: redis.url })
    const device = newDevice()
    plane.knows(device)
    const agent = await connect(dialSocket(await program.listening()), device)
    await agent.greet()
    process.kill(redis.pid, 'SIGSTOP')
    program.kill('SIGTERM')
    expect((await agent.next()).move).toBeTruthy()
    agent.peer.close()
    expect(await program.exited).toBe(0)
  })

  it('ends at once on a second signal', async () => {
    const program = run(settings())
    const device = newDevice()
    plane.knows(device)
    const agent = await connect(dialSocket(await program.listening()), device)
    await agent.greet()
    program.kill('SIGTERM')
    await agent.next()
    program.kill('SIGTERM')
    expect(await program.exited).toBe(130)
  })

  it.each(['REDIS_URL', 'EXCHANGE_URL'] as const)(
    'told to end while it starts and %s is of somebody who says nothing, it accepts nobody and ends with 0',
    async (name) => {
      const { port, came, close } = await silent()
      const url = name === 'REDIS_URL' ? `redis://127.0.0.1:${port}` : `http://127.0.0.1:${port}/`
      const program = run({ ...settings(), [name]: url })
      await until(() => came() > 0, 'a connection')
      program.kill('SIGTERM')
      expect(await program.exited).toBe(0)
      expect(program.lines('accepting agents').filter(({ url: at }) => !String(at).includes(':0/'))).toEqual(
        [],
      )
      close()
    },
  )

  it('told to end and not gone in time, it ends by force and says so', async () => {
    const program = run({ ...settings(), NODE_ENV: 'test', SVC_TEST_LIMITS: 'exitWithinMs=300' })
    const device = newDevice()
    plane.knows(device)
    // It is asked to move, and has more time for it than that.
    const agent = await connect(dialSocket(await program.listening()), device)
    await agent.greet()
    program.kill('SIGTERM')
    expect(await program.exited).toBe(1)
    expect(program.err).toBe('it was told to end, and has not within 300 ms: it is ended\n')
  })
})

/** Takes connections, and says nothing. */
const silent = async () => {
  const sockets = new Set<Socket>()
  let came = 0
  const server = createServer((socket) => {
    came++
    sockets.add(socket.on('error', () => {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port: (server.address() as AddressInfo).port, came: () => came, close }
}
