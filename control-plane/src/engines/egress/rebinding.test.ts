import { afterAll, afterEach, expect, test } from 'vitest'
import { addresses, nameServer, of, type Question } from '../../../test/harness/egress/dns.ts'
import {
  deserted,
  openCanary,
  openServer,
  outside,
  outsideOnly,
} from '../../../test/harness/egress/inside.ts'
import { type Egress, type EgressOptions, makeEgress } from './egress.ts'

const canary = await openCanary()
/** On the canary's port, so that a name that changes its mind would lead from one to the other. */
const server = await openServer(
  (request, response) => response.end(`outside ${request.headers.host}`),
  canary.port,
)

const chain = (to: string) => [
  { type: 'CNAME' as const, data: 'one.test' },
  { name: 'one.test', type: 'CNAME' as const, data: 'two.test' },
  { name: 'two.test', type: 'CNAME' as const, data: 'three.test' },
  ...addresses(to).map((each) => ({ ...each, name: 'three.test' })),
]
const zones: Record<string, (question: Question) => ReturnType<Parameters<typeof nameServer>[0]>> = {
  'steady.test': ({ type }) => of(type, addresses(outside)),
  // public first, then the inside, for whoever looks twice
  'rebind.test': ({ type, before }) => of(type, addresses(before === 0 ? outside : '127.0.0.1')),
  'rebind6.test': ({ type, before }) => of(type, addresses(...(before === 0 ? [outside] : ['::1']))),
  'mixed4.test': ({ type }) => of(type, addresses(outside, '127.0.0.1')),
  'deserted.test': ({ type }) => of(type, addresses(deserted, '127.0.0.1')),
  'mixed6.test': ({ type }) => of(type, addresses(outside, '::1')),
  'mapped6.test': ({ type }) => of(type, addresses(outside, '::ffff:127.0.0.1')),
  'nat64.test': ({ type }) => of(type, addresses(outside, '64:ff9b::7f00:1')),
  'compatible.test': ({ type }) => of(type, addresses('::7f00:2')),
  'chain.test': ({ type }) => of(type, chain('127.0.0.1')),
  'chain-out.test': ({ type }) => of(type, chain(outside)),
  'to-localhost.test': () => [{ type: 'CNAME', data: 'localhost' }],
  'crowd.test': ({ type }) => of(type, addresses(...Array<string>(65).fill(outside))),
  'half.test': ({ type }) => (type === 'A' ? addresses(outside) : 'SERVFAIL'),
  'broken.test': () => 'SERVFAIL',
  'silent.test': () => 'silent',
  'empty.test': () => [],
}
const dns = await nameServer((question) => zones[question.name]?.(question) ?? 'NXDOMAIN')

const made: Egress[] = []
function engine(more: Partial<EgressOptions> = {}): Egress {
  const it = makeEgress({
    http: true,
    ports: [[1024, 65_535]],
    allow: outsideOnly(deserted),
    resolvers: [dns.address],
    ...more,
  })
  made.push(it)
  return it
}
const ask = (by: Egress, host: string, timeoutMs = 3_000) =>
  by.fetch(`http://${host}:${canary.port}/`, { timeoutMs }).then(
    (response) => response.text(),
    (error: { code?: string; message: string }) => error.code ?? `fault: ${error.message}`,
  )
afterEach(() => {
  dns.asked.length = 0
  canary.reached()
})
afterAll(async () => {
  await Promise.all(made.map((each) => each.close()))
  dns.close()
})

test('a name is looked up once, for both families, and asked by its name', async () => {
  expect(await ask(engine(), 'steady.test')).toBe(`outside steady.test:${canary.port}`)
  expect(dns.asked.map(({ name, type }) => `${name} ${type}`).sort()).toEqual([
    'steady.test A',
    'steady.test AAAA',
  ])
})

test.each([['rebind.test'], ['rebind6.test']])(
  '%s, which leads to the inside the second time, gets no second time',
  async (host) => {
    const by = engine()
    expect(await ask(by, host)).toContain('outside')
    expect(canary.reached()).toBe(0)
    // The next call looks again, and sees.
    expect(await ask(by, host)).toBe('ADDRESS_DENIED')
    expect(canary.reached()).toBe(0)
  },
)

test.each([['rebind.test'], ['rebind6.test']])(
  '%s: with a second look for the connection it does',
  async (host) => {
    expect(await ask(engine({ without: new Set(['pinned']) }), host)).toBe('canary')
    expect(canary.reached()).toBe(1)
  },
)

test.each([
  ['mixed4.test'],
  ['mixed6.test'],
  ['mapped6.test'],
  ['nat64.test'],
  ['compatible.test'],
  ['chain.test'],
])('%s has one address of the inside, and none is asked', async (host) => {
  const before = server.seen.connections
  expect(await ask(engine(), host)).toBe('ADDRESS_DENIED')
  expect([canary.reached(), server.seen.connections]).toEqual([0, before])
})

test('where the first answer alone is looked at, the next one is connected to when that fails', async () => {
  const lonely = await openCanary()
  const address = `http://deserted.test:${lonely.port}/`
  await expect(engine().fetch(address)).rejects.toMatchObject({ code: 'ADDRESS_DENIED' })
  expect(lonely.reached()).toBe(0)
  const open = engine({ without: new Set(['every_answer']) })
  expect(await (await open.fetch(address)).text()).toBe('canary')
  expect(lonely.reached()).toBe(1)
})

test('with no ranges denied a chain of names leads to the inside', async () => {
  expect(await ask(engine({ without: new Set(['ranges']) }), 'chain.test')).toBe('canary')
})

test('a chain of names that leads outside is followed', async () => {
  expect(await ask(engine(), 'chain-out.test')).toBe(`outside chain-out.test:${canary.port}`)
})

test('one family is enough', async () => {
  expect(await ask(engine(), 'half.test')).toContain('outside')
})

test.each([['to-localhost.test'], ['crowd.test'], ['broken.test'], ['empty.test'], ['nowhere.test']])(
  '%s leads nowhere',
  async (host) => {
    expect(await ask(engine(), host)).toBe('UNREACHABLE')
  },
)

test('a name server that says nothing costs no more than the time of the call', async () => {
  const began = performance.now()
  expect(await ask(engine(), 'silent.test', 300)).toBe('TIMED_OUT')
  expect(performance.now() - began).toBeLessThan(1_500)
})
