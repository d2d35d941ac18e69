import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLog } from './open.ts'
import { isSensitive } from './sensitive.ts'

function logOf(without?: ReadonlySet<string>) {
  const lines: string[] = []
  const sink = { write: (line: string | Uint8Array) => lines.push(String(line)) && line.length }
  const lost = { stalled: 0, gone: 0, repeated: 0 }
  return { lines, log: openLog({ service: 'gateway', level: 'info', sink, lost, without }).log }
}

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789'.split('')
const word = (length: number) =>
  fc
    .array(fc.constantFrom(...alphabet), { minLength: length, maxLength: length })
    .map((all) => `Q7${all.join('')}`)
const quiet = fc.stringMatching(/^[a-z ]{0,12}$/)

/** What the world calls secrets: the text around one, and what of it must not be seen. */
type Planted = { text: string; secret: string }
const shaped: fc.Arbitrary<Planted> = word(30).chain((secret) =>
  fc
    .constantFrom(
      `eyJhbGciOiJFZERTQSJ9.${secret}.${secret}`,
      `svc_${secret.slice(0, 10)}_${secret}_abc123`,
      `svca_0123_${secret}`,
      `svcl_${secret}`,
      `whsec_${secret}`,
      `Bearer ${secret}`,
      `authorization: Basic ${secret}==`,
      `-----BEGIN PRIVATE KEY-----\n${secret}\n${secret}\n-----END PRIVATE KEY-----`,
      `-----BEGIN RSA PRIVATE KEY-----\n${secret}`,
      `otpauth://totp/x:y@z?secret=${secret}&issuer=x`,
      `redis://:${secret}@127.0.0.1:6379`,
      `postgres://svc:p@${secret}@db/x`,
      `amqp://a@${secret}@db`,
      `user=x&pass=${secret}`,
      `postgres://svc:${secret}@db/x`,
      `https://${secret}@host/path`,
      `wss://host/remote?ticket=${secret}`,
      `GET /sso/callback?code=${secret}&state=${secret} HTTP/1.1`,
      `access_token=${secret}; path=/`,
      `cookie: a=b; svc_refresh_token=${secret}; c=d`,
      `set-cookie: svc_csrf_token=${secret}`,
      `x-api-key: ${secret}`,
      `{"password":"${secret}"}`,
      `{"body":{"refreshToken": "${secret}"}}`,
      `password: ${secret}`,
    )
    .map((text) => ({ text, secret })),
)

/** Under a name that says so it may be anything. */
const names = [
  'password',
  'newPassword',
  'authorization',
  'Set-Cookie',
  'cookie',
  'X-Api-Key',
  'apiKey',
  'token',
  'accessToken',
  'refresh_token',
  'secret',
  'clientSecret',
  'code',
  'otp',
  'totp',
  'ticket',
  'privateKey',
  'enrollmentKey',
  'idempotency-key',
  'x-svc-csrf',
  'credentials',
  'pass',
  'smtpPass',
  'bearer',
  'psk',
]
const named = fc
  .record({ name: fc.constantFrom(...names), secret: word(20), inside: fc.nat(2) })
  .map(({ name, secret, inside }) => ({
    value: { [name]: inside === 0 ? secret : inside === 1 ? [secret] : { value: secret } } as unknown,
    secret,
  }))
const inText = fc
  .tuple(quiet, shaped, quiet)
  .map(([before, { text, secret }, after]) => ({ value: `${before} ${text} ${after}` as unknown, secret }))

/** A name and its secret, beside each other. */
const beside = fc.record({ secret: word(20), at: fc.nat(4) }).map(({ secret, at }) => ({
  value: [
    ['host', 'x', 'X-Api-Key', secret],
    [['cookie', `a=${secret}`]],
    { name: 'password', value: secret },
    [{ key: 'client_secret', value: [secret] }],
    { body: { type: 'Buffer', data: [81, 55, ...Buffer.from(secret)] } },
  ][at] as unknown,
  secret: at === 4 ? '81,55,' : secret,
}))

type Leaf = { value: unknown; secret: string }
const leaf: fc.Arbitrary<Leaf> = fc.oneof(named, inText, beside)

/** Around it: objects, lists, errors, causes, several errors at once, maps, JSON in JSON. */
const wrappings: ((value: unknown) => unknown)[] = [
  (value) => ({ a: 1, inner: value }),
  (value) => [0, value, 'x'],
  (value) => new Map([['k', value]]),
  (value) => new Set([value]),
  (value) => new Error(typeof value === 'string' ? value : 'outer', { cause: value }),
  (value) => new Error('outer', { cause: value instanceof Error ? value : new TypeError(String(value)) }),
  (value) => new AggregateError([value instanceof Error ? value : new Error(String(value))], 'several'),
  (value) => Object.assign(new Error('with a field'), { command: value, code: value }),
  (value) => ({ toJSON: () => value }),
]
const anywhere = fc
  .tuple(leaf, fc.array(fc.constantFrom(...wrappings), { maxLength: 4 }))
  .map(([{ value, secret }, around]) => ({
    value: around.reduce((inner, wrap) => wrap(inner), value),
    secret,
  }))

/** Every way to hand it to a log. */
function tell(log: ReturnType<typeof logOf>['log'], value: unknown) {
  log.warn({ err: value }, 'as err')
  log.warn({ thing: value, deviceId: 'd' }, 'as a detail')
  if (typeof value === 'object') log.warn(value as object)
  if (typeof value === 'string') {
    log.warn(value)
    log.warn({ event: 'console' }, value)
    log.warn({ requestId: value, err: new Error(value) })
    log.child({ said: value }).warn('of a child')
  }
}

const runs = (numRuns: number) => ({ numRuns, endOnFailure: true })

test('no secret comes through, wherever it was put', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(anywhere, ({ value, secret }) => {
      const { lines, log } = logOf()
      tell(log, value)
      for (const line of lines) {
        expect(line).not.toContain(secret)
        JSON.parse(line)
      }
    }),
    runs(Number(process.env['REDACTION_RUNS'] ?? 300)),
  )
})

test('without the guard it does', () => {
  const seen = fc.check(
    fc.property(anywhere, ({ value, secret }) => {
      const { lines, log } = logOf(new Set(['errors_cut_down']))
      tell(log, value)
      return !lines.some((line) => line.includes(secret))
    }),
    runs(200),
  )
  expect(seen.failed).toBe(true)
})

test('what is no secret is told as it is', () => {
  const { lines, log } = logOf()
  const said = {
    url: 'http://127.0.0.1:8080/health?page=2',
    shards: [1, 2],
    keyId: 'k1',
    exitCode: 137,
    errorCode: 'UNAVAILABLE',
    hasPassword: true,
    tokens: null,
    at: new Date(0),
    text: 'closed with code 4001 after 123456 ms, svc_app may not, see svc_http_request_seconds',
  }
  log.info(said, 'ordinary')
  log.error({ err: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }) }, 'away')
  log.error({ err: Object.assign(new Error('no'), { code: '23505' }) }, 'taken')
  expect(lines.join('')).not.toContain('[redacted]')
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ details: { ...said, at: '1970-01-01T00:00:00.000Z' } })
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ err: { code: 'ECONNREFUSED' } })
})

test('a code of six digits, and a circle, are told without', () => {
  const { lines, log } = logOf()
  const circle: Record<string, unknown> = { otp: 123456 }
  circle['self'] = circle
  log.info(circle, 'your code is 123456')
  log.info({ err: Object.assign(new Error('123456 is your login code'), { code: '123456' }) }, 'sent')
  expect(lines.join('')).not.toContain('123456')
  expect(lines.join('')).toContain('[circular]')
})

test('names of secrets are known in every spelling', () => {
  expect(
    ['PASSWORD', 'pass_word', 'x-api-key', 'smsCode', 'KEY'].filter((name) => !isSensitive(name)),
  ).toEqual([])
  expect(['errorCode', 'publicKey', 'laptop', 'keyId', 'status'].filter(isSensitive)).toEqual([])
})

test('nothing that a terminal obeys is in a line, and what was there is seen', () => {
  const { lines, log } = logOf()
  const text = 'a\u009b31m\u202eb\u2028c\u007f\u0085d\u2066\n\u001b[31m'
  log.warn({ said: text, [`n\u009b`]: 1, requestId: text, err: new Error(text) }, text)
  const line = lines.join('')
  expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069](?!$)/u)
  expect((JSON.parse(line) as { msg: string }).msg).toBe(
    'a\\u009b31m\\u202eb\\u2028c\\u007f\\u0085d\\u2066\n\u001b[31m',
  )
})
