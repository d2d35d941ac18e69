import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test, vi } from 'vitest'
import { openCanary, openRaw, openServer, outside, outsideOnly } from '../../../test/harness/egress/inside.ts'
import { type Egress, type EgressInit, type EgressOptions, fetchOf, makeEgress } from './egress.ts'

const made: Egress[] = []
afterAll(() => Promise.all(made.map((each) => each.close())))
function engine(more: Partial<EgressOptions> = {}): Egress {
  const it = makeEgress({ http: true, ports: [[1024, 65_535]], allow: outsideOnly(), ...more })
  made.push(it)
  return it
}
const codeOf = (by: Egress, url: string, init?: EgressInit) =>
  by.fetch(url, init).then(
    (response) => String(response.status),
    (error: { code?: string; message: string }) => error.code ?? `fault: ${error.message}`,
  )
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, outside)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

test('a call asks what it is told to, and nothing of the connection', async () => {
  const echo = await openServer((request, response) => {
    const { method, url, headers } = request
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    void text(request).then((body) => response.end(JSON.stringify({ method, url, headers, body })))
  })
  const answer = await engine().fetch(new URL(`${echo.url}/path?q=%20#part`), {
    method: 'put',
    headers: new Headers({ 'X-One': '1', 'User-Agent': 'other' }),
    body: new URLSearchParams({ a: 'b c' }),
  })
  expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  expect(await answer.json()).toEqual({
    method: 'PUT',
    url: '/path?q=%20',
    headers: {
      host: echo.url.slice(7),
      connection: 'close',
      'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
      'user-agent': 'other',
      'x-one': '1',
      'accept-encoding': 'identity',
      'content-length': '5',
    },
    body: 'a=b+c',
  })
})

test('as a library’s fetch it needs no object, and takes what such libraries pass', async () => {
  const server = await openServer((request, response) =>
    response.end(`${request.method} ${request.headers.accept}`),
  )
  const fetch = Reflect.get(engine(), 'fetch') as ReturnType<typeof engine>['fetch'] // without its object
  expect(await (await fetch(server.url)).text()).toBe('GET undefined')
  const call = fetchOf({ fetch, close: async () => undefined }, { key: 'provider' })
  const init = {
    method: 'POST',
    headers: { accept: 'a' },
    body: undefined,
    redirect: 'manual',
    signal: undefined,
  }
  expect(await (await call(server.url, init)).text()).toBe('POST a')
  await expect(call(server.url, { method: 'POST', body: new ReadableStream() })).rejects.toMatchObject({
    code: 'ADDRESS_INVALID',
  })
})

test.each([
  ['Host', 'x'],
  ['connection', 'upgrade'],
  ['Transfer-Encoding', 'chunked'],
  ['content-length', '0'],
  ['Expect', '100-continue'],
  ['te', 'x'],
  ['upgrade', 'h2c'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['Forwarded', 'for=127.0.0.1'],
  ['proxy-authorization', 'x'],
  ['x y', '1'],
  ['x:y', '1'],
  ['x\r\nhost', '1'],
  ['', '1'],
  [':authority', 'x'],
  ['x', 'a\r\nhost: b'],
  ['x', 'a\0b'],
  ['x', 'snow ☃'],
])('the header %j: %j is not for callers', async (name, value) => {
  const server = await openServer((_request, response) => response.end())
  expect(await codeOf(engine(), server.url, { headers: { [name]: value } })).toBe('ADDRESS_INVALID')
  expect(server.seen.connections).toBe(0)
})

test('methods, headers and bodies have their limits', async () => {
  const server = await openServer((request, response) => request.resume().on('end', () => response.end()))
  const by = engine()
  expect(await codeOf(by, server.url, { method: 'CONNECT' })).toBe('ADDRESS_INVALID')
  expect(await codeOf(by, server.url, { method: 'GET / HTTP/1.1\r\nX: y' })).toBe('ADDRESS_INVALID')
  expect(await codeOf(by, server.url, { headers: { x: 'a'.repeat(20_000) } })).toBe('TOO_LARGE')
  const many = Object.fromEntries(Array.from({ length: 65 }, (_each, at) => [`x-${at}`, '1']))
  expect(await codeOf(by, server.url, { headers: many })).toBe('ADDRESS_INVALID')
  const most = 1024 * 1024
  expect(await codeOf(by, server.url, { method: 'POST', body: 'a'.repeat(most + 1) })).toBe('TOO_LARGE')
  expect(await codeOf(by, server.url, { method: 'POST', body: 'a'.repeat(most) })).toBe('200')
})

test('a key has five connections at once and no more, another one gets its own, and all get their answer', async () => {
  let [now, most] = [0, 0]
  const server = await openServer((_request, response) => {
    most = Math.max(most, ++now)
    setTimeout(() => {
      now--
      response.end()
    }, 20)
  })
  const by = engine()
  const calls = (key: string, number: number) =>
    Array.from({ length: number }, () => codeOf(by, server.url, { key }))
  expect(new Set(await Promise.all(calls('one', 40)))).toEqual(new Set(['200']))
  expect(most).toBe(5)
  most = 0
  expect(new Set(await Promise.all([...calls('one', 20), ...calls('two', 20)]))).toEqual(new Set(['200']))
  expect(most).toBe(10)
  expect(server.seen.connections).toBe(80)
  most = 0
  const wide = engine({ perKey: 50 })
  await Promise.all(Array.from({ length: 20 }, () => codeOf(wide, server.url, { key: 'one' })))
  expect(most).toBeGreaterThan(5)
})

test('a key that hangs everywhere keeps nobody else waiting', async () => {
  const hanging = await openRaw(() => undefined)
  const server = await openServer((_request, response) => response.end())
  const by = engine({ atOnce: 8, failures: Number.POSITIVE_INFINITY })
  const stuck = Array.from({ length: 20 }, () => codeOf(by, hanging.url, { key: 'stuck', timeoutMs: 700 }))
  let over = false
  void Promise.race(stuck).then(() => (over = true))
  await expect.poll(() => hanging.open()).toBe(5)
  expect(await codeOf(by, server.url, { key: 'other' })).toBe('200')
  expect(over).toBe(false)
  for (const code of await Promise.all(stuck)) expect(['TIMED_OUT', 'BUSY']).toContain(code)
  expect(await codeOf(by, server.url, { key: 'stuck' })).toBe('200')
})

test('an endpoint that fails again and again is left alone, others of the same key are not', async () => {
  const time = { now: 0 }
  const by = engine({ now: () => time.now, without: new Set(['alike']) })
  const [bad, good] = [
    await openRaw((socket) => socket.destroy()),
    await openServer((_request, response) => response.writeHead(500).end()),
  ]
  let connections = 0
  for (let at = 0; at < 5; at++) expect(await codeOf(by, bad.url, { key: 'k' })).toBe('UNREACHABLE')
  connections = bad.seen()
  expect(await codeOf(by, bad.url, { key: 'k' })).toBe('CIRCUIT_OPEN')
  expect(bad.seen()).toBe(connections)
  expect(await codeOf(by, good.url, { key: 'k' })).toBe('500')
  expect(await codeOf(by, bad.url, { key: 'other' })).toBe('UNREACHABLE')
  time.now = 30_000
  expect(await codeOf(by, bad.url, { key: 'k' })).toBe('UNREACHABLE')
  expect(await codeOf(by, bad.url, { key: 'k' })).toBe('CIRCUIT_OPEN')
})

/** What is at an inner address that an operator allowed, as whoever may name addresses can find it. */
async function inner() {
  const silent = await openRaw(() => undefined)
  const banner = await openRaw((socket) => socket.write('SSH-2.0-OpenSSH\r\n'))
  const closing = await openRaw((socket) => socket.destroy())
  return {
    closed: `http://${outside}:${await closedPort()}`,
    silent: silent.url,
    banner: banner.url,
    closing: closing.url,
    'no TLS': banner.url.replace('http:', 'https:'),
    'silent TLS': silent.url.replace('http:', 'https:'),
  }
}
const told = async (by: Egress, url: string) => {
  const began = performance.now()
  const error = await by
    .fetch(url, { key: url, timeoutMs: 900 })
    .catch((thrown: Error & { code: string }) => thrown)
  return {
    text: error instanceof Error ? `${(error as { code?: string }).code} ${error.message}` : 'answered',
    ms: performance.now() - began,
  }
}

test('where an operator allowed an inner address nobody can tell what is there by how it fails, nor by when', async () => {
  const ports = Object.values(await inner())
  const by = engine({ innerMs: 400 })
  const answers = await Promise.all(ports.map((url) => told(by, url)))
  expect(new Set(answers.map(({ text: said }) => said))).toEqual(
    new Set(['UNREACHABLE the address cannot be reached, or gives no answer of HTTP']),
  )
  const times = answers.map(({ ms }) => ms)
  expect(Math.min(...times)).toBeGreaterThan(395)
  expect(Math.max(...times) - Math.min(...times)).toBeLessThan(200)
  const bare = engine({ innerMs: 400, without: new Set(['alike']) })
  const open = await Promise.all(ports.map((url) => told(bare, url)))
  expect(new Set(open.map(({ text: said }) => said)).size).toBeGreaterThan(2)
  expect(Math.min(...open.map(({ ms }) => ms))).toBeLessThan(200)
})

test('a refused address answers alike and at once, whatever listens there', async () => {
  const canary = await openCanary()
  const answers = await Promise.all(
    [canary.port, await closedPort()].map((port) => told(engine(), `http://127.0.0.1:${port}/`)),
  )
  expect(new Set(answers.map(({ text: said }) => said)).size).toBe(1)
  for (const { ms } of answers) expect(ms).toBeLessThan(1_000)
  expect(canary.reached()).toBe(0)
})

test('variables of the environment name no proxy', async () => {
  const canary = await openCanary()
  const proxy = `http://127.0.0.1:${canary.port}`
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'])
    vi.stubEnv(name, proxy)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  const server = await openServer((_request, response) => response.end())
  expect(await codeOf(engine(), server.url)).toBe('200')
  vi.unstubAllEnvs()
  expect([canary.reached(), server.seen.connections]).toEqual([0, 1])
})

test('a caller that gives up gets its own reason, and the connection is closed', async () => {
  const silent = await openRaw(() => undefined)
  const stop = new AbortController()
  const outcomes: string[] = []
  const by = engine({ observe: ({ outcome }) => outcomes.push(outcome) })
  const call = by.fetch(silent.url, { signal: stop.signal })
  await expect.poll(() => silent.open()).toBe(1)
  stop.abort(new Error('enough'))
  await expect(call).rejects.toThrow('enough')
  await expect.poll(() => silent.open()).toBe(0)
  await expect(by.fetch(silent.url, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow(
    'before',
  )
  expect(outcomes).toEqual(['aborted', 'aborted'])
})

test('closing ends what runs and refuses what comes', async () => {
  const silent = await openRaw(() => undefined)
  const by = engine()
  const running = Promise.all([codeOf(by, silent.url), codeOf(by, silent.url)])
  await expect.poll(() => silent.open()).toBe(2)
  await by.close()
  expect(await running).toEqual(['BUSY', 'BUSY'])
  expect(await codeOf(by, silent.url)).toBe('BUSY')
  await by.close()
  await expect.poll(() => silent.open()).toBe(0)
})
