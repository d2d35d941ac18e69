import { expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'
import { ApiError } from './errors.ts'
import { limits } from './limits.ts'

const { core, clock, owner } = await testApp()
const counted = core.ports.limits
const subject = (ip: string) => ({ ip, email: 'a@b.c' })
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as ApiError,
  )

test.each([
  ['login', subject],
  ['refresh', (ip: string) => ({ ip })],
] as const)(
  '%s: as many as it allows, then none until its window ends; a point given back counts again',
  async (name, who) => {
    const { points, seconds } = limits[name]
    const ip = '198.51.100.1'
    for (let n = 0; n < points; n++) await counted.hit(name, who(ip))
    const refused = await refusal(counted.hit(name, who(ip)))
    expect(refused?.code).toBe('RATE_LIMITED')
    expect(refused?.retryAfter).toBeGreaterThan(seconds - 5)
    expect(refused?.retryAfter).toBeLessThanOrEqual(seconds)
    expect((await refusal(counted.check(name, who(ip))))?.code).toBe('RATE_LIMITED')
    await counted.refund(name, who(ip))
    await counted.refund(name, who(ip))
    expect(await refusal(counted.check(name, who(ip)))).toBeUndefined()
    await counted.hit(name, who(ip))
    expect((await refusal(counted.check(name, who(ip))))?.code).toBe('RATE_LIMITED')
    expect(await refusal(counted.check(name, who('198.51.100.2')))).toBeUndefined()
    await counted.reset(name, who(ip))
    expect(await refusal(counted.check(name, who(ip)))).toBeUndefined()
  },
)

test('a window that is over is forgotten, and nothing is ever owed', async () => {
  const who = subject('198.51.100.3')
  for (let n = 0; n < 5; n++) await counted.hit('login', who)
  clock.advance(15 * 60_000)
  await counted.refund('login', who) // of an attempt that began in the window before
  for (let n = 0; n < 5; n++) await counted.hit('login', who)
  expect(await refusal(counted.hit('login', who))).toBeInstanceOf(ApiError)
})

test('writing of an e-mail address is no way around its limit', async () => {
  const spellings = ['A@b.c', ' a@B.C ', 'a@b.c', 'ａ@b.c', 'A@B.C']
  for (const email of spellings) await counted.hit('login', { ip: '198.51.100.4', email })
  expect(await refusal(counted.hit('login', { ip: '198.51.100.4', email: 'a@b.C' }))).toBeInstanceOf(ApiError)
})

test('neither address nor e-mail is kept', async () => {
  await counted.hit('login', subject('198.51.100.5'))
  const rows = await owner`select bucket, subject::text from rate_limits`
  expect(rows.length).toBeGreaterThan(0)
  expect(rows.every(({ subject }) => /^\\x[0-9a-f]{64}$/.test(String(subject)))).toBe(true)
})

test('a limit that counts by what is not given is a fault, not a pass', async () => {
  await expect(counted.hit('login', { ip: '198.51.100.6' })).rejects.toThrow('counts by email')
})
