import { expect, test } from 'vitest'
import { flawOf, schema } from '../../../tools/log/lines.ts'
import { plainEvents, securityEvents, services } from './events.ts'
import { openLog } from './open.ts'
import { securityOf } from './security.ts'

/** A log into memory. */
function memoryLog(level = 'info', without?: ReadonlySet<string>) {
  const lines: string[] = []
  const lost = { stalled: 0, gone: 0, repeated: 0 }
  const sink = { write: (line: string | Uint8Array) => lines.push(String(line)) && line.length }
  const opened = openLog({ service: 'gateway', instance: 'edge-1', level, sink, lost, without })
  return { ...opened, lines, lost, security: securityOf(opened.log) }
}

test('the schema names the events and services of the code, and no others', () => {
  const { securityEvent, plainEvent } = schema.definitions
  expect(securityEvent?.enum).toEqual(Object.keys(securityEvents))
  expect(plainEvent?.enum).toEqual([...plainEvents])
  expect(schema.properties['service']?.enum).toEqual([...services])
})

test('whatever is logged is a line of the schema', () => {
  const { log, lines, security } = memoryLog('trace')
  log.info('words')
  log.info({ shard: 3, names: ['a'], deviceId: 'd' }, 'with details')
  log.error({ err: new Error('it broke', { cause: new TypeError('below') }) }, 'broken')
  log.warn({ err: 'no error', event: 7, requestId: 5, time: 'x', level: 'y', msg: 'z' }, 'misplaced')
  log.child({ role: 'api' }).debug({ nested: { deep: [1, { two: new Date(0) }] } }, 'of a child')
  security('login.refused', 'refused', { reason: 'password', requestId: crypto.randomUUID() })
  expect(lines).toHaveLength(6)
  expect(lines.flatMap((line) => flawOf(line) ?? [])).toEqual([])
})

test('a message that is shown to the host instead of being sent is whole', () => {
  const { log, lines } = memoryLog()
  log.info(
    { event: 'message.shown', shown: { by: 'sms', to: '+49', text: 'your code is 123456' } },
    'not sent',
  )
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ details: { text: 'your code is 123456' } })
  expect(flawOf(lines[0] ?? '')).toBeUndefined()
})

test('a line that is not one is found', () => {
  const { log, lines } = memoryLog()
  log.info('words')
  const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>
  for (const spoiled of [
    { ...line, extra: 1 },
    { ...line, level: 30 },
    { ...line, time: Date.now() },
    { ...line, event: 'made.up' },
    { ...line, event: 'login.refused' },
    { ...line, security: true },
    { ...line, requestId: 'x' },
  ])
    expect(flawOf(JSON.stringify(spoiled))).toBeTruthy()
  expect(flawOf('Error: raw')).toContain('no JSON')
})

test('a security event is written whatever the level, and each of them', () => {
  for (const level of ['error', 'silent']) {
    const { log, lines, security } = memoryLog(level)
    log.warn('ordinary')
    for (let i = 0; i < 200; i++) security('authorization.denied', 'denied', { actorId: 'u' })
    expect(lines).toHaveLength(200)
    expect(lines.every((line) => line.includes('"event":"authorization.denied","security":true'))).toBe(true)
  }
})

test('of a storm the first lines are written, and one says how many more there were', () => {
  const { log, lines, lost, security, flush } = memoryLog('error')
  for (let i = 0; i < 20_000; i++) {
    log.error({ i }, 'a connection failed')
    security('device.refused', 'an agent is refused', { reason: 'credential_invalid' })
  }
  expect(lines).toHaveLength(100)
  flush(0)
  const [failed, refused] = lines.slice(100).map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(failed).toMatchObject({
    event: 'log.repeated',
    details: { text: 'a connection failed', leftOut: 19_950 },
  })
  expect(refused).toMatchObject({ event: 'device.refused', security: true, details: { leftOut: 19_950 } })
  expect(lines.flatMap((line) => flawOf(line) ?? [])).toEqual([])
  expect(lost).toEqual({ stalled: 0, gone: 0, repeated: 39_900 })
})
