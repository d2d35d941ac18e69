import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'
import { referenceScript, scriptPath } from './reference-script.ts'

const { app } = await testApp()
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

test('the page may load nothing from elsewhere, and nothing but it may do more than the API', async () => {
  const page = await get('/docs')
  expect(page.statusCode).toBe(200)
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  const policy = String(page.headers['content-security-policy'])
  expect(policy.split('; ')).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
    ]),
  )
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval/)
  expect(page.body).not.toMatch(/https?:/)
  for (const url of ['/docs/reference.js', '/api/v1/openapi.json', '/health'])
    expect((await get(url)).headers['content-security-policy']).toBe(
      "default-src 'none';frame-ancestors 'none'",
    )
})

test('its scripts come from this server, packed where the browser unpacks', async () => {
  const plain = await get('/docs/reference.js')
  const packed = await get('/docs/reference.js', { 'accept-encoding': 'br, gzip' })
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  const wanted = sha256(readFileSync(scriptPath()))
  expect(sha256(plain.rawPayload)).toBe(wanted)
  expect(sha256(gunzipSync(packed.rawPayload))).toBe(wanted)
  expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 3)
  expect(packed.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'content-encoding': 'gzip',
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
  })
  expect((await get('/docs/start.js')).body).toContain('"telemetry":false')
})

test('what the browser has is not sent again, and each form of it is told apart', async () => {
  const packed = { 'accept-encoding': 'gzip' }
  const first = await get('/docs/reference.js', packed)
  const again = { 'if-none-match': String(first.headers['etag']) }
  const same = await get('/docs/reference.js', { ...packed, ...again })
  expect([same.statusCode, same.rawPayload.length]).toEqual([304, 0])
  expect((await get('/docs/reference.js', again)).statusCode).toBe(200)
})

test('the page has one address, and takes no other method', async () => {
  const slash = await get('/docs/')
  expect([slash.statusCode, slash.headers['location']]).toEqual([308, '../docs'])
  const post = await app.inject({ method: 'POST', url: '/docs' })
  expect([post.statusCode, post.headers['allow']]).toEqual([405, 'GET, HEAD'])
})

test('the script is read once, when somebody asks, and again after a failure', async () => {
  const paths = ['/nowhere', scriptPath(), '/nowhere']
  let reads = 0
  const script = referenceScript(() => paths[reads++] ?? '')
  expect(reads).toBe(0)
  await expect(script()).rejects.toThrow('ENOENT')
  const [one, two] = await Promise.all([script(), script()])
  expect(one).toBe(two)
  expect(await script()).toBe(one)
  expect(reads).toBe(2)
})
