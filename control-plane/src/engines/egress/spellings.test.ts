import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addresses, nameServer, of } from '../../../test/harness/egress/dns.ts'
import { openCanary, outside, outsideOnly } from '../../../test/harness/egress/inside.ts'
import { elsewhere, loopback } from '../../../test/harness/egress/spellings.ts'
import { type Denied, type Egress, type EgressOptions, makeEgress } from './egress.ts'
import { innerKind } from './inner.ts'

const names: Record<string, string[]> = {
  'outside.test': [outside],
  'loopback.test': ['127.0.0.1'],
  'loopback6.test': ['::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'both.test': ['127.0.0.1', '::1'],
  'public-first.test': [outside, '127.0.0.1'],
  'public-last.test': ['127.0.0.1', outside],
  'six-of-four.test': [outside, '::1'],
  'dotted.test': ['127.0.0.1'],
  'xn--bcher-kva.test': ['127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'private.test': ['10.0.0.1'],
  'ula.test': ['fd12::1'],
  'svc.test': [outside],
  'database.test': [outside],
}
const server = await nameServer(({ name, type }) => {
  if (name === 'chain.test')
    return of(type, [
      { type: 'CNAME', data: 'a.test' },
      { name: 'a.test', type: 'CNAME', data: 'b.test' },
      { name: 'b.test', type: 'A', data: '127.0.0.1' },
    ])
  const found = names[name]
  return found ? of(type, addresses(...found)) : 'NXDOMAIN'
})
const canary = await openCanary()
/** For engines without guards: what reaches it late is not taken for a fault of the guarded one. */
const lure = await openCanary()
const denied: Denied[] = []

/** Names of the server resolve to what is allowed, and are refused all the same. */
const guarded: Partial<EgressOptions> = {
  http: true,
  ports: [
    [80, 80],
    [443, 443],
    [1024, 65_535],
  ],
  allow: outsideOnly(),
  resolvers: [server.address],
  ownNames: ['svc.test', 'database.test'],
  failures: Number.POSITIVE_INFINITY,
  onDenied: (what) => denied.push(what),
}
let egress: Egress
beforeAll(() => {
  egress = makeEgress(guarded)
})
afterAll(async () => {
  await egress.close()
  server.close()
})

const at = (spelling: string, { port } = canary) => spelling.replaceAll('¤', String(port))
const codeOf = (by: Egress, address: string) =>
  by.fetch(address, { timeoutMs: 8_000 }).then(
    (response) => `answered ${response.status}`,
    (error: { code?: string; message: string }) => error.code ?? `fault: ${error.message}`,
  )
const refusals = ['ADDRESS_DENIED', 'ADDRESS_INVALID']

test('no spelling of this machine reaches it', async () => {
  expect(loopback.length).toBeGreaterThan(100)
  const codes = await Promise.all(
    loopback.map(async (spelling) => [spelling, await codeOf(egress, at(spelling))]),
  )
  expect(codes.filter(([, code]) => !refusals.includes(String(code)))).toEqual([])
  expect(canary.reached()).toBe(0)
})

test('nor does anything else of the inside get asked, be it a network, a part of the server, or another scheme or port', async () => {
  expect(elsewhere.length).toBeGreaterThan(60)
  const ports = [[80, 80] as const, [443, 443] as const]
  const strict = makeEgress({ ...guarded, ports })
  const codes = await Promise.all(
    elsewhere.map(async (spelling) => [spelling, await codeOf(strict, spelling)]),
  )
  await strict.close()
  expect(codes.filter(([, code]) => !refusals.includes(String(code)))).toEqual([])
})

/** So many at once, and so long, that none is left for want of a turn on a machine that has other things to do. */
const unguarded = { ...guarded, atOnce: 200, perKey: 200, without: new Set(['ranges', 'alike'] as const) }

/** Not of this machine where nobody translates them: without its guards the engine would ask another one. */
const elsewhereIfOpen = /\[(64:ff9b|2002:|2001:|::ffff:0:|::127|::7f00)/

test('with no ranges denied most of those spellings reach it', async () => {
  const open = makeEgress(unguarded)
  const here = loopback.filter((spelling) => !elsewhereIfOpen.test(spelling))
  const codes = await Promise.all(here.map(async (spelling) => codeOf(open, at(spelling, lure))))
  await open.close()
  expect(codes.filter((code) => code === 'answered 200').length).toBeGreaterThan(55)
  expect(lure.reached()).toBeGreaterThan(55)
})

test('with its own names unguarded a part of the server is asked', async () => {
  const open = makeEgress({ ...guarded, without: new Set(['own_names', 'alike']) })
  expect(await codeOf(open, at('http://database.test:¤/'))).toBe('UNREACHABLE')
  await open.close()
  expect(await codeOf(egress, at('http://database.test:¤/'))).toBe('ADDRESS_DENIED')
})

test('each refusal is one line that says whose, where to and why', async () => {
  denied.length = 0
  await egress.fetch(at('http://public-first.test:¤/secret?token=1'), { key: 'org 1' }).catch(() => undefined)
  await egress.fetch('http://svc.test/', { key: 'org 2' }).catch(() => undefined)
  expect(denied).toEqual([
    { key: 'org 1', host: 'public-first.test', kind: 'loopback', address: '127.0.0.1' },
    { key: 'org 2', host: 'svc.test', kind: 'own' },
  ])
})

test('what a tenant is told names no address', async () => {
  const messages = await Promise.all(
    ['http://private.test/', 'http://both.test/', 'http://[::1]/'].map((address) =>
      egress.fetch(address).catch((error: Error) => error.message),
    ),
  )
  expect(new Set(messages)).toEqual(new Set(['the address leads to where requests of this kind must not go']))
})

/** One number in one of the ways that the URL standard reads it, and zeros before it. */
const number = (value: number) =>
  fc.tuple(fc.constantFrom(10, 8, 16), fc.nat(3), fc.boolean()).map(([radix, zeros, upper]) => {
    const digits = value.toString(radix)
    if (radix === 10) return digits
    const text = (radix === 8 ? '0' : '0x') + '0'.repeat(zeros) + digits
    return upper ? text.toUpperCase() : text
  })
const wide = (text: string) =>
  text.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))
const percent = (text: string) => Array.from(text, (c) => `%${c.charCodeAt(0).toString(16)}`).join('')

/** 127.0.0.0/8 in one to four parts, or within IPv6. */
const spelled = fc
  .tuple(fc.integer({ min: 0x7f_00_00_00, max: 0x7f_ff_ff_ff }), fc.integer({ min: 1, max: 4 }))
  .filter(([value]) => value !== 0x7f_00_00_02)
  .chain(([value, parts]) => {
    const bytes = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]
    const last = value % 256 ** (5 - parts)
    const written = [...bytes.slice(0, parts - 1), last].map(number)
    const hex = `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`
    const six = ['::ffff:', '::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', '0:0:0:0:0:ffff:', '2002:'].map(
      (prefix) => `[${prefix}${hex}${prefix === '2002:' ? '::' : ''}]`,
    )
    return fc.oneof(
      fc.tuple(...written).map((all) => all.join('.')),
      fc.tuple(...written).map((all) => wide(all.join('.'))),
      fc.tuple(...written).map((all) => all.join('。')),
      fc.tuple(...written).map((all) => percent(all.join('.'))),
      fc.constantFrom(...six),
    )
  })

test('nor does a spelling that nobody thought of', async () => {
  const refused = (by: Egress, hosts: typeof spelled, { port } = canary) =>
    fc.asyncProperty(hosts, fc.constantFrom('', '.', 'a@', 'a:b@'), async (host, trick) => {
      const written =
        trick === '.' && !host.endsWith(']') ? `${host}.` : trick.endsWith('@') ? trick + host : host
      expect(refusals).toContain(await codeOf(by, `http://${written}:${port}/`))
    })
  await fc.assert(refused(egress, spelled), { numRuns: 500 })
  expect(canary.reached()).toBe(0)
  const open = makeEgress(unguarded)
  const named = spelled.filter((host) => !host.startsWith('['))
  expect(await fc.check(refused(open, named, lure), { numRuns: 100, endOnFailure: true })).toMatchObject({
    failed: true,
  })
  await open.close()
})

test('an address that another list calls special is of the inside', () => {
  const v4 = fc.ipV4()
  const bits = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n })
  const v6 = fc
    .oneof(
      bits,
      bits.map((all) => (all & (2n ** 125n - 1n)) | (1n << 125n)),
    )
    .map((all) => (all.toString(16).padStart(32, '0').match(/.{4}/g) ?? []).join(':'))
  const special = [ipaddr.IPv4, ipaddr.IPv6].flatMap(({ prototype }) => {
    const { SpecialRanges } = prototype as unknown as { SpecialRanges: Record<string, unknown[]> }
    return Object.values(SpecialRanges)
      .flat(2)
      .filter((each) => typeof each === 'object')
      .map(String)
  })
  expect(special.length).toBeGreaterThan(30)
  const within = fc.constantFrom(...special)
  fc.assert(
    fc.property(fc.oneof(v4, v6, within), (address) => {
      const is = ipaddr.process(address)
      if (is.range() !== 'unicast' && is.range() !== 'ipv4Mapped')
        expect(innerKind(is.toString())).toBeDefined()
    }),
    { numRuns: 3_000 },
  )
  expect(
    ['8.8.8.8', '1.1.1.1', '2606:4700::1', '2a00:1450:4001::1', '185.199.108.153'].map(innerKind),
  ).toEqual(Array(5).fill(undefined))
})
