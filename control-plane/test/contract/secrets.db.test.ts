import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { queueMail } from '../../src/engines/mail/queue.ts'
import { testApp } from '../harness/app.ts'
import { outboxOf } from '../harness/outbox.ts'
import { appWith } from './world/app-with.ts'
import { makeWorld } from './world/things.ts'
import { makeApiKey } from '../../src/kernel/api-key-text.ts'
import type { Person } from '../harness/people.ts'

const world = await makeWorld(await testApp())
const { own } = world.places
const outbox = outboxOf(world)

let log = ''
const sink = new Writable({
  write(chunk: Buffer, _encoding, done) {
    log += chunk.toString()
    done()
  },
})
const app = await appWith(world, routes, pino({ level: 'trace' }, sink))

/** What must be found nowhere, by what it is. */
const canaries = new Map<string, string>()
const remember = (values: Record<string, string | undefined>, suffix = '') => {
  for (const [name, value] of Object.entries(values)) {
    if (!value || value.length < 12) throw new Error(`${name} is no secret that can be looked for: ${value}`)
    canaries.set(name + suffix, value)
  }
}

let address = 0
async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const remoteAddress = `10.9.0.${++address}`
  const reply = await app.inject({
    method: 'POST',
    url: `/api/v1${path}`,
    headers,
    remoteAddress,
    payload: body as object,
  })
  return { status: reply.statusCode, json: reply.body.startsWith('{') ? reply.json() : {} }
}
const bearer = async (person: Person) => ({ authorization: `Bearer ${await person.token()}` })

/** Password, second factor, refresh with a key that makes its answer be kept. */
async function logInAndRefresh(): Promise<void> {
  const account = await world.accounts.account({ totp: true })
  const { body: first } = {
    body: (await post('/auth/login', { email: account.email, password: account.password })).json,
  }
  const done = await post('/auth/mfa/verify', {
    tempToken: first.tempToken,
    code: await world.accounts.code(account),
  })
  const idempotencyKey = `retry-${crypto.randomUUID()}`
  const rotated = await post(
    '/auth/refresh',
    { refreshToken: done.json.refreshToken },
    { 'idempotency-key': idempotencyKey },
  )
  expect([done.status, rotated.status]).toEqual([200, 200])
  remember({
    password: account.password,
    tempToken: first.tempToken,
    'TOTP secret': account.totpSecret,
    'access token': done.json.accessToken,
    'refresh token': done.json.refreshToken,
    'next access token': rotated.json.accessToken,
    'next refresh token': rotated.json.refreshToken,
    'key of the kept answer': idempotencyKey,
  })
  account.recoveryCodes.forEach((code, index) => remember({ 'recovery code': code }, ` ${index}`))
}

async function setUpSecondFactor(): Promise<void> {
  const person = await world.people.partnerAdmin(own.partnerId)
  const begun = await post('/auth/mfa/setup', undefined, await bearer(person))
  expect(begun.status).toBe(200)
  remember({ 'new TOTP secret': begun.json.secret })
  begun.json.recoveryCodes.forEach((code: string, index: number) =>
    remember({ 'new recovery code': code }, ` ${index}`),
  )
}

/** A key whose answer is kept for a retry, a device that uses it, both shown once. */
async function enrol(): Promise<void> {
  const person = await world.people.partnerAdmin(own.partnerId)
  const idempotencyKey = `create-${crypto.randomUUID()}`
  const wanted = { orgId: own.orgId, siteId: own.siteId, name: 'Canary' }
  const made = await post('/enrollment-keys', wanted, {
    ...(await bearer(person)),
    'idempotency-key': idempotencyKey,
  })
  const machine = {
    enrollmentKey: made.json.key,
    hostname: 'canary',
    osType: 'linux',
    architecture: 'x64',
    agentVersion: '1.0.0',
  }
  const device = await post('/agents/enroll', machine)
  expect([made.status, device.status]).toEqual([201, 201])
  remember({
    'enrollment key': made.json.key,
    'device token': device.json.deviceToken,
    'key of the kept key': idempotencyKey,
  })
}

/** A key whose answer is kept, that is used and rotated, each shown once. */
async function useKeys(): Promise<void> {
  const person = await world.people.partnerAdmin(own.partnerId)
  const key = `api-${crypto.randomUUID()}`
  const headers = { ...(await bearer(person)), 'idempotency-key': key }
  const made = await post('/api-keys', { name: 'Canary', scopes: ['organizations:write'] }, headers)
  const child = await post(
    '/api-keys',
    { name: 'Canary’s own', scopes: ['organizations:write'], expiresAt: made.json.expiresAt },
    { 'x-api-key': made.json.key },
  )
  const rotated = await post(`/api-keys/${made.json.id}/rotate`, undefined, headers)
  await world.core.kernel.keyUses.flush()
  expect([made.status, child.status, rotated.status]).toEqual([201, 201, 200])
  remember({
    'API key': made.json.key,
    'API key made by another': child.json.key,
    'rotated API key': rotated.json.key,
    'key of the kept API key': key,
  })
  // Also the part that is secret, by itself.
  remember({ 'secret of an API key': child.json.key.split('_')[2] })
}

/** Links and codes that leave the house, and passwords that are chosen; a link is used, and another waits. */
async function recover(): Promise<void> {
  const account = await world.accounts.account()
  const chosen = `chosen-${crypto.randomUUID()}`
  const links = []
  for (let i = 0; i < 2; i++) {
    await post('/auth/forgot-password', { email: account.email })
    links.push(await outbox.tokenFor(account.email))
    remember({ 'reset token': links.at(-1) }, ` ${i}`)
  }
  const reset = await post('/auth/reset-password', { token: links.at(-1), password: chosen })
  await post('/auth/forgot-password', { email: account.email })
  remember({ 'chosen password': chosen, 'reset token that waits': await outbox.tokenFor(account.email) })
  const registered = `registered-${crypto.randomUUID()}`
  const partner = { email: 'canary@example.com', name: 'Canary', companyName: 'Canary', password: registered }
  const made = await post('/auth/register-partner', partner)
  const unsent = `svcl_unsent-${crypto.randomUUID()}`
  const mail = {
    to: account,
    kind: 'reset-password',
    data: { link: `http://x/#token=${unsent}`, until: new Date() },
  }
  await world.db.tx((tx) =>
    queueMail({ db: tx, ports: world.core.ports }, {
      ...mail,
      to: { name: '', email: account.email },
    } as never),
  )
  remember({ 'registered password': registered, 'token in the queue': unsent })
  expect([reset.status, made.status]).toEqual([204, 201])
}

/** Six digits are no canary by themselves: they are looked for as a whole field. */
const sentCodes: string[] = []
const phone = '+4915112345678'

async function sendCodes(): Promise<void> {
  const account = await world.accounts.account()
  const { accessToken } = await world.accounts.logInFully(account)
  const body = { phoneNumber: phone, currentPassword: account.password }
  const headers = { authorization: `Bearer ${accessToken}` }
  await post('/auth/phone/verify', body, headers)
  sentCodes.push(outbox.codeFor(phone))
  await world.owner`
    update svc.users set mfa_method = 'sms', phone_number = ${phone}, phone_verified = true where id = ${account.userId}`
  const { tempToken } = (await post('/auth/login', { email: account.email, password: account.password })).json
  await post('/auth/mfa/sms/send', { tempToken })
  sentCodes.push(outbox.codeFor(phone))
}

const codesIn = (text: string) =>
  sentCodes.filter(
    (code) => new RegExp(`[(,"]${code}[),"]`).test(text) || text.includes(Buffer.from(code).toString('hex')),
  )

/** What goes wrong is logged and audited: with none of what was sent. */
async function failInEveryWay(): Promise<void> {
  const wrong = (name: string) => {
    const value = `wrong-${name}-${crypto.randomUUID()}`
    remember({ [`wrong ${name}`]: value })
    return value
  }
  const { email } = await world.accounts.account()
  const unknownKey = makeApiKey()
  remember({ 'unknown API key': unknownKey })
  const machine = { hostname: 'canary', osType: 'linux', architecture: 'x64', agentVersion: '1.0.0' }
  const credentials = { email, password: wrong('password') }
  const replies = [
    await post('/auth/login', credentials),
    await post('/auth/login', { ...credentials, surprise: 1 }),
    await post('/auth/login', `{"email":"${email}","password":"${wrong('password in no JSON')}"`, {
      'content-type': 'application/json',
    }),
    await post('/auth/login', { email: 7, password: wrong('password of no one') }),
    await post('/auth/refresh', { refreshToken: wrong('refresh token') }),
    await post('/auth/mfa/verify', { tempToken: wrong('tempToken'), code: '123456' }),
    await post('/auth/mfa/verify', { tempToken: wrong('tempToken with a bad code'), code: wrong('code') }),
    await post('/agents/enroll', { ...machine, enrollmentKey: wrong('enrollment key') }),
    await post('/auth/logout', undefined, { authorization: `Bearer ${wrong('bearer')}` }),
    await post('/auth/logout', undefined, { 'x-api-key': wrong('API key') }),
    await post('/api-keys', {}, { 'x-api-key': unknownKey }),
    await post('/auth/refresh', {}, { cookie: `svc_refresh_token=${wrong('cookie')}` }),
  ]
  expect(replies.filter(({ status }) => status < 400 || status >= 500)).toEqual([])
}

/** A statement that fails is logged with its text; its parameters may be secrets. */
async function failInside(): Promise<void> {
  const { email, password } = await world.accounts.account()
  const { enrollmentSecret } = await world.things('own')
  remember({ 'enrollment key of a failure': enrollmentSecret })
  const machine = {
    enrollmentKey: enrollmentSecret,
    hostname: 'canary',
    osType: 'linux',
    architecture: 'x64',
    agentVersion: '1.0.0',
  }
  await world.owner`alter function svc.write_audit rename to write_audit_away`
  const replies = [await post('/auth/login', { email, password }), await post('/agents/enroll', machine)]
  await world.owner`alter function svc.write_audit_away rename to write_audit`
  expect(replies.map(({ status }) => status)).toEqual([500, 500])
}

/** Everything that the database holds, as text; bytes are hexadecimal in it. */
async function dump(): Promise<string> {
  const tables = await world.owner<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'svc'::regnamespace and relkind in ('r', 'p')`
  const texts = tables.map(async ({ name }) => {
    const rows = await world.owner<{ text: string }[]>`select t::text as text from svc.${world.owner(name)} t`
    return rows.map(({ text }) => text).join('\n')
  })
  const jobs = await world.owner<
    { text: string }[]
  >`select t::text as text from graphile_worker._private_jobs t`
  return [...(await Promise.all(texts)), ...jobs.map(({ text }) => text)].join('\n')
}

/** The ways in which a value may be written down. */
const spellings = (value: string) => {
  const bytes = Buffer.from(value)
  return [
    value,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(value),
    value.replaceAll('-', ''),
  ]
}
const foundIn = (text: string) =>
  [...canaries]
    .filter(([, value]) => spellings(value).some((spelling) => text.includes(spelling)))
    .map(([name]) => name)

let database = ''
beforeAll(async () => {
  await logInAndRefresh()
  await setUpSecondFactor()
  await enrol()
  await useKeys()
  await recover()
  await sendCodes()
  await failInEveryWay()
  await failInside()
  database = await dump()
})
afterAll(() => sink.end())

test('the search finds what is there', async () => {
  expect(canaries.size).toBeGreaterThan(30)
  expect(database).toContain('user.login')
  expect(log).toContain('a request failed')
  expect(foundIn(`x ${Buffer.from(canaries.get('device token') ?? '').toString('hex')} y`)).toEqual([
    'device token',
  ])
})

test('no secret is in any row of any table', () => {
  expect(foundIn(database)).toEqual([])
})

test('no code that was sent is in any row, and the search would find one', () => {
  expect(sentCodes).toEqual([expect.stringMatching(/^\d{6}$/), expect.stringMatching(/^\d{6}$/)])
  expect(codesIn(`(1,${sentCodes[0]},x)`)).toEqual([sentCodes[0]])
  expect(database).toContain(phone)
  expect(codesIn(database)).toEqual([])
})

test('no secret is in the log, however talkative', () => {
  expect(foundIn(log)).toEqual([])
})
