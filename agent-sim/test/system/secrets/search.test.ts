import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { Canaries } from './canaries.ts'
import { Search } from './search.ts'

const canaries = new Canaries()
const password = canaries.choose('password', 'one')
const key = canaries.choose('API key', 'another', () => randomBytes(32).toString('base64url'))
const code = canaries.code('SMS code', '048213', ['user-1'])
const search = new Search(canaries)

const noise = () => randomBytes(1_000)
const findings = (text: string | Buffer) =>
  search.in([
    {
      where: 'here',
      bytes: Buffer.concat([noise(), Buffer.from(' '), Buffer.from(text), Buffer.from(' '), noise()]),
    },
  ])
const quoted = (text: string) => JSON.stringify(text).slice(1, -1)

test('in what holds none, none is found', () => {
  expect(search.in([{ where: 'noise', bytes: Buffer.concat(Array.from({ length: 1_000 }, noise)) }])).toEqual(
    [],
  )
})

test.each([
  ['as it is', password, 'clear'],
  ['in JSON', quoted(password), 'clear'],
  ['in a URL', encodeURIComponent(password), 'clear'],
  ['in base64', Buffer.from(`x${password}y`).toString('base64'), 'base64'],
  ['in base64url', Buffer.from(`xy${password}`).toString('base64url'), 'base64'],
  ['in hex', Buffer.from(password).toString('hex'), 'hex'],
  ['in HEX', Buffer.from(password).toString('hex').toUpperCase(), 'HEX'],
  ['as a buffer in JSON', JSON.stringify(Buffer.from(password)), 'numbers'],
])('%s it is found', (_, text, form) => {
  expect(findings(text)).toContainEqual({ kind: 'password', what: 'one', form, where: 'here' })
})

/** What only that spelling shows: the part with characters that it changes. */
const tail = password.slice(-20)
test.each([
  ['in JSON', quoted(tail), 'JSON'],
  ['in JSON in JSON', quoted(quoted(tail)), 'JSON in JSON'],
  ['in a URL', encodeURIComponent(tail), 'URL'],
  ['in a form', new URLSearchParams({ '': tail }).toString().slice(1), 'form'],
])('its end %s is found', (_, text, form) => {
  expect(findings(text).map((found) => found.form)).toContain(form)
})

test('twelve characters of it are found wherever they begin, in each spelling; eleven are not', () => {
  for (let at = 0; at + 12 <= key.length; at++) {
    const part = key.slice(at, at + 12)
    for (const text of [part, Buffer.from(part).toString('hex'), [...Buffer.from(part)].join()])
      expect(findings(`:${text}:`), `${at} ${text}`).toHaveLength(1)
    for (const before of ['', 'a', 'ab'])
      expect(findings(Buffer.from(`${before}${part}xyz`).toString('base64')).length, `${before} ${at}`).toBe(
        1,
      )
  }
  expect(findings(`:${key.slice(3, 14)}:`)).toEqual([])
})

test('a code is found where it stands by itself, and as a digest that needs no key', () => {
  const found = { kind: 'SMS code', where: 'here' }
  for (const text of [`(1,${code},x)`, `"${code}"`, `code=${code}&`, `${code} is your code`])
    expect(findings(text), text).toMatchObject([found])
  expect(findings(Buffer.from(code).toString('hex'))).toMatchObject([found])
  const digest = createHash('sha256').update(`user-1:${code}`).digest()
  for (const text of [digest, digest.toString('hex'), digest.toString('base64')])
    expect(findings(text)).toMatchObject([{ ...found, what: 'its sha256 without a key' }])
  expect(findings(`12:00:00.${code}+00 1${code} ${code}.5`)).toEqual([])
})

test('of a key file the private bytes are looked for', () => {
  const own = new Canaries()
  const { privateKey } = generateKeyPairSync('ed25519')
  own.key('jwt-1.pem', String(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  own.key('master.key', `${randomBytes(32).toString('hex')}\n`)
  const [pair, master] = own.all
  expect([pair?.secret.length, master?.secret.length]).toEqual([32, 32])
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  expect(new Search(own).in([{ where: 'here', bytes: Buffer.from(pem) }])).toMatchObject([
    { what: 'jwt-1.pem' },
  ])
})

test('what the product did not make is refused as such', () => {
  expect(() => canaries.shown('API key', 'no key', 'svc_short')).toThrow('no API key')
  expect(() => canaries.shown('CSRF token', 'none', undefined)).toThrow('no CSRF token')
})
