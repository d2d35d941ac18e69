import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findRedisServer } from '../../../tools/services.ts'
import { startSystem, type System } from './harness/system.ts'

const standstill = join(import.meta.dirname, 'harness/standstill.mjs')
const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/log-line.schema.json'), 'utf8'),
) as object

interface Ready {
  status: number
  failing: string[]
}

describe.skipIf(!findRedisServer())('what is wrong is told by name, in both programs', () => {
  let system: System
  const gatewayHealth = (index: number, path: string) =>
    (system.gatewayUrls[index] ?? '').replace('ws:', 'http:').replace('/agent', path)
  const places = () => ({
    api: `${system.apiUrl}/health`,
    gateway: gatewayHealth(0, '/health'),
    unwatched: gatewayHealth(1, '/health'),
  })
  const ask = async (url: string): Promise<Ready> => {
    const answer = await fetch(url, { signal: AbortSignal.timeout(15_000) })
    const { failing = [] } = (await answer.json()) as Partial<Ready>
    return { status: answer.status, failing }
  }
  const ready = (of: keyof ReturnType<typeof places>) => ask(`${places()[of]}/ready`)
  const alive = async () => Promise.all(Object.values(places()).map(async (url) => (await fetch(url)).status))

  beforeAll(async () => {
    system = await startSystem({
      gateways: 2,
      variables: { NODE_OPTIONS: `--import=${standstill}` },
      variablesOfLast: { SVC_TEST_WITHOUT: 'loop_watch' },
    })
  })
  afterAll(() => system.close())

  test('nothing, at first', async () => {
    for (const of of ['api', 'gateway', 'unwatched'] as const)
      await expect.poll(() => ready(of), { message: of }).toEqual({ status: 200, failing: [] })
  })

  test('a schema that is not this version’s', async () => {
    const [newest] = await system.sql<{ name: string }[]>`
      select name from svc_meta.migrations order by name desc limit 1`
    const rename = (from: string, to: string) =>
      system.sql`update svc_meta.migrations set name = ${to} where name = ${from}`
    const name = newest?.name ?? ''
    await rename(name, `${name}.gone`)
    await expect.poll(async () => (await ready('api')).failing).toEqual(['migrations'])
    expect((await ready('api')).status).toBe(503)
    await rename(`${name}.gone`, name)
    await expect.poll(() => ready('api')).toEqual({ status: 200, failing: [] })
  })

  test('Redis, without which both serve all the same', async () => {
    await system.redis.kill()
    for (const of of ['api', 'gateway'] as const)
      await expect.poll(() => ready(of)).toEqual({ status: 200, failing: ['redis'] })
    expect(await alive()).toEqual([200, 200, 200])
  })

  test('an event loop that stood still, with what it was busy with', async () => {
    const programs = [system.api, system.gateway(0), system.gateway(1)]
    for (const program of programs) program.signal('SIGUSR2')
    const over = () => programs.every((program) => program.log().includes('stood still as it was told to'))
    await expect.poll(over, { timeout: 60_000, interval: 100 }).toBe(true)
    const [api, gateway, unwatched] = await Promise.all([ready('api'), ready('gateway'), ready('unwatched')])
    // The control plane stood still as well: whether an exchange failed meanwhile is chance.
    const failing = gateway.failing.filter((part) => part !== 'exchange')
    expect([api, { ...gateway, failing }]).toEqual([
      { status: 503, failing: ['event_loop', 'redis'] },
      { status: 503, failing: ['redis', 'event_loop'] },
    ])
    // Without its guard nobody knows.
    expect(unwatched.failing).not.toContain('event_loop')
    expect(await alive()).toEqual([200, 200, 200])
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema)
    for (const program of programs.slice(0, 2)) {
      const lines = () =>
        program
          .log()
          .split('\n')
          .filter((line) => line.includes('"event":"process.blocked"'))
          .map(
            (line) => JSON.parse(line) as { level: string; details: { blockedMs: number; stack: string[] } },
          )
      // Of the thread that looks on, while it lasts; and of the program itself, when it goes on.
      await expect.poll(() => lines().map(({ level }) => level)).toEqual(['error', 'warn'])
      for (const line of lines()) {
        expect(validate(line), JSON.stringify(validate.errors)).toBe(true)
        // What it asks for the time may be on top of it.
        expect(line.details.stack.join('\n')).toMatch(/^standStill \(.*standstill\.mjs:\d+:\d+\)$/m)
      }
    }
    expect(system.gateway(1).log()).not.toContain('process.blocked')
  })

  test('the control plane, without which a gateway decides nothing then', async () => {
    await system.api.kill()
    await expect.poll(() => ready('unwatched')).toEqual({ status: 503, failing: ['redis', 'exchange'] })
    expect((await fetch(places().unwatched)).status).toBe(200)
  })
})
