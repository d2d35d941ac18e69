import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { openCanary, openRaw, openServer, outsideOnly } from '../../../test/harness/egress/inside.ts'
import { type EgressInit, type EgressOptions, makeEgress } from './egress.ts'

const canary = await openCanary()
const options: Partial<EgressOptions> = {
  http: true,
  ports: [[1024, 65_535]],
  allow: outsideOnly(),
  idleMs: 300,
  failures: Number.POSITIVE_INFINITY,
  // The outside of these tests is of loopback, and its failures are to be told apart.
  without: new Set(['alike']),
}
const egress = makeEgress(options)
afterAll(() => egress.close())

const codeOf = (url: string, init: EgressInit = {}, by = egress) =>
  by.fetch(url, { timeoutMs: 1_500, ...init }).then(
    async (response) => `${response.status} ${(await response.text()).length}`,
    (error: { code?: string; message: string }) => error.code ?? `fault: ${error.message}`,
  )
/** Of a server that answers: it has all the time that a busy machine may take. */
const served = async (answer: RequestListener, init?: EgressInit) =>
  codeOf((await openServer(answer)).url, { timeoutMs: 10_000, ...init })

/** Says this once it was asked, and then no more. */
const saying = (text: string | Buffer, then: (socket: Socket) => void = () => undefined) =>
  openRaw((socket) => {
    socket.once('data', () => {
      socket.write(text)
      then(socket)
    })
  })
const said = async (text: string | Buffer, then?: (socket: Socket) => void) =>
  codeOf((await saying(text, then)).url)

test.each([[300], [301], [302], [303], [305], [307], [308], [399]])(
  'a redirect (%i) is not followed',
  async (status) => {
    const location = `http://127.0.0.1:${canary.port}/`
    expect(await served((_request, response) => response.writeHead(status, { location }).end())).toBe(
      'REDIRECTED',
    )
    expect(await served((_request, response) => response.writeHead(status).end())).toBe('REDIRECTED')
    expect(canary.reached()).toBe(0)
  },
)

test('where redirects are followed, one to the outside is, and one to the inside is refused all the same', async () => {
  const open = makeEgress({ ...options, without: new Set(['alike', 'redirects']) })
  const next = await openServer((_request, response) => response.end('next'))
  let location = next.url
  const first = await openServer((_request, response) => response.writeHead(302, { location }).end())
  expect(await codeOf(first.url)).toBe('REDIRECTED')
  expect(next.seen.connections).toBe(0)
  expect(await codeOf(first.url, {}, open)).toBe('200 4')
  expect(next.seen.connections).toBe(1)
  location = `http://127.0.0.1:${canary.port}/`
  expect(await codeOf(first.url, {}, open)).toBe('ADDRESS_DENIED')
  expect(canary.reached()).toBe(0)
  const naked = makeEgress({ ...options, without: new Set(['redirects', 'ranges']) })
  expect(await codeOf(first.url, {}, naked)).toBe('200 6')
  expect(canary.reached()).toBe(1)
  await Promise.all([open.close(), naked.close()])
})

test('304 is an answer', async () => {
  expect(await served((_request, response) => response.writeHead(304).end())).toBe('304 0')
})

test('other ways to point elsewhere are words like others', async () => {
  const to = `http://127.0.0.1:${canary.port}/`
  const pointing: RequestListener = (_request, response) =>
    response
      .writeHead(200, {
        'alt-svc': `h2="127.0.0.1:${canary.port}"; ma=3600, h3=":${canary.port}"`,
        refresh: `0; url=${to}`,
        link: `<${to}>; rel=preload`,
        'content-location': to,
        location: to,
      })
      .end(`<meta http-equiv="refresh" content="0; url=${to}">`)
  const { url } = await openServer(pointing)
  expect(await codeOf(url)).toMatch(/^200 /)
  expect(await codeOf(url)).toMatch(/^200 /)
  expect(canary.reached()).toBe(0)
})

test.each([
  ['says nothing', () => undefined],
  ['says a part of its head', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nContent-')],
  [
    'says what is to come, again and again',
    (socket: Socket) => {
      const again = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20)
      socket.on('close', () => clearInterval(again))
    },
  ],
  [
    'says a body drop by drop',
    (socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
      const again = setInterval(() => socket.write('.'), 50)
      socket.on('close', () => clearInterval(again))
    },
  ],
])('a server that %s is left when the time is over, and its connection is closed', async (_name, talk) => {
  const server = await openRaw(talk)
  const began = performance.now()
  expect(await codeOf(server.url, { timeoutMs: 200 })).toBe('TIMED_OUT')
  expect(performance.now() - began).toBeLessThan(1_200)
  await expect.poll(() => server.open()).toBe(0)
})

test('a body on which nothing moves is left before the time is over', async () => {
  const began = performance.now()
  expect(await said('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')).toBe('TIMED_OUT')
  expect(performance.now() - began).toBeLessThan(1_400)
})

const endless: RequestListener = (_request, response) => {
  const more = () => {
    while (response.write(Buffer.alloc(65_536))) continue
  }
  response.on('drain', more)
  more()
}

test('an endless body is read as far as it may be, and no further', async () => {
  const server = await openServer(endless)
  expect(await codeOf(server.url)).toBe('TOO_LARGE')
  expect(await codeOf(server.url, { maxBytes: 100 })).toBe('TOO_LARGE')
  const exact: RequestListener = (_request, response) => response.end(Buffer.alloc(1_000))
  expect(await served(exact, { maxBytes: 1_000 })).toBe('200 1000')
  expect(await served(exact, { maxBytes: 999 })).toBe('TOO_LARGE')
})

const packed =
  (coding: string, bytes: Buffer): RequestListener =>
  (_request, response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(bytes)

const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }

test.each([
  ['gzip', (bytes: Buffer) => gzipSync(bytes)],
  ['x-gzip', (bytes: Buffer) => gzipSync(bytes)],
  ['deflate', (bytes: Buffer) => deflateSync(bytes)],
  ['br', (bytes: Buffer) => brotliCompressSync(bytes, quick)],
])('%s is unpacked as far as it may be', async (coding, pack) => {
  expect(await served(packed(coding, pack(Buffer.from('hello'))))).toBe('200 5')
  const bomb = packed(coding, pack(Buffer.alloc(4 * 1024 * 1024)))
  expect(await served(bomb)).toBe('TOO_LARGE')
  // With the limit above it the same bytes are read: it is the limit that holds.
  expect(await served(bomb, { maxBytes: 5 * 1024 * 1024 })).toBe(`200 ${4 * 1024 * 1024}`)
})

test('what a bomb would unfold to is never there', async () => {
  const member = gzipSync(Buffer.alloc(16 * 1024 * 1024))
  const bomb = Buffer.concat(Array<Buffer>(32).fill(member))
  expect(bomb.length).toBeLessThan(600_000)
  const before = process.memoryUsage.rss()
  expect(await served(packed('gzip', bomb))).toBe('TOO_LARGE')
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1024 * 1024)
})

test('what is packed twice, in a way nobody knows, or badly is not taken', async () => {
  expect(await served(packed('gzip, gzip', gzipSync(gzipSync('x'))))).toBe('UNREACHABLE')
  expect(await served(packed(Array(200).fill('gzip').join(','), gzipSync('x')))).toBe('UNREACHABLE')
  expect(await served(packed('zstd', Buffer.from('x')))).toBe('UNREACHABLE')
  expect(await served(packed('constructor', Buffer.from('x')))).toBe('UNREACHABLE')
  expect(await served(packed('gzip', Buffer.from('not packed at all')))).toBe('UNREACHABLE')
  expect(await served(packed('gzip', gzipSync('cut').subarray(0, 12)))).toBe('UNREACHABLE')
  expect(await served(packed('gzip', Buffer.alloc(0)))).toBe('200 0')
})

const end = (socket: Socket) => socket.end()
test.each([
  ['closes at once', '', end],
  ['resets', '', (socket: Socket) => socket.resetAndDestroy()],
  ['closes within the head', 'HTTP/1.1 200 OK\r\nX:', end],
  ['closes within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', end],
  ['closes within a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nabc', end],
  ['speaks something else', '220 mail.example ESMTP\r\n', undefined],
  ['speaks TLS', Buffer.from([0x15, 3, 1, 0, 2, 2, 40]), end],
  ['has a status out of range', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', undefined],
  ['has a status of three zeros', 'HTTP/1.1 000 Odd\r\ncontent-length: 0\r\n\r\n', undefined],
  [
    'wants another protocol',
    'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    undefined,
  ],
  ['has two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', end],
  [
    'has a length and chunks',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    end,
  ],
  ['has a header with a zero byte', 'HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n', undefined],
] as const)('a server that %s gives no answer', async (_name, text, then) => {
  expect(await said(text, then)).toBe('UNREACHABLE')
})

test('a head that does not end is not read for ever', async () => {
  const line = `x-line: ${'a'.repeat(1_000)}\r\n`
  expect(await said(`HTTP/1.1 200 OK\r\n${line.repeat(40)}\r\n`)).toBe('TOO_LARGE')
})

test('odd bytes in a header are taken as they are', async () => {
  const { url } = await saying('HTTP/1.1 200 OK\r\nx-odd: \u{e9}\r\nx-even: 1\r\ncontent-length: 0\r\n\r\n')
  const { headers } = await egress.fetch(url)
  expect([headers.get('x-odd'), headers.get('x-even')]).toEqual(['\u{c3}\u{a9}', '1'])
})

test('after all of that nothing is left open, and the next call works', async () => {
  expect(await served((_request, response) => response.end('fine'))).toBe('200 4')
  expect(canary.reached()).toBe(0)
})
