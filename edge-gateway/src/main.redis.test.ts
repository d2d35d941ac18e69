import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ControlPlane } from '../test/control-plane.ts'
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
})
