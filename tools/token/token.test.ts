import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DataFolder } from '../start/data-folder.ts'
import { codes, currentCode } from './login.ts'
import { run } from './run.ts'

const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const claims = Buffer.from(JSON.stringify({ exp: Date.now() / 1000 + 900 })).toString('base64url')
const kept = { accessToken: `h.${claims}.kept`, refreshToken: 'r' }

let answer: { status: number; body: object }
let asked: string[]
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  const { status, body } = request.url?.endsWith('/auth/me') ? { status: 200, body: {} } : answer
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
})
let folder: DataFolder
const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined)

beforeEach(async () => {
  asked = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  folder = new DataFolder(mkdtempSync(join(tmpdir(), 'svc-token-')))
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  folder.running.write({ api, gateway: '', mqtt: [] })
  folder.demo.write({ email: 'a@b.example', password: 'p', totpSecret: secret, enrollmentKey: '' })
  folder.tokens.write(kept)
})
afterEach(async () => {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
  rmSync(folder.path, { recursive: true, force: true })
})

test('a kept token is printed as long as the server takes it; --fresh logs in all the same', async () => {
  answer = { status: 200, body: { accessToken: 'new', refreshToken: 'n' } }
  await run({ data: folder.path, fresh: false })
  expect(printed).toHaveBeenLastCalledWith(kept.accessToken)
  await run({ data: folder.path, fresh: true })
  expect(printed).toHaveBeenLastCalledWith('new')
  expect(asked).toEqual(['/api/v1/auth/me', '/api/v1/auth/login'])
  expect(folder.tokens.read()).toEqual({ accessToken: 'new', refreshToken: 'n' })
})

test('a limit is one line that says how long it lasts', async () => {
  answer = { status: 429, body: { error: { code: 'RATE_LIMITED', message: 'too many' }, retryAfter: 42 } }
  await expect(run({ data: folder.path, fresh: true })).rejects.toThrow(
    /^The server does not let us log in: 429 RATE_LIMITED, too many; again in 42 s$/,
  )
})

test('credentials that are no good any more are one line that says where new ones belong', async () => {
  answer = { status: 401, body: { error: { code: 'INVALID_CREDENTIALS', message: 'wrong' } } }
  await expect(run({ data: folder.path, fresh: true })).rejects.toThrow(
    /^The server does not let us log in: 401 INVALID_CREDENTIALS, wrong; .+ belongs into demo\.json of the data folder \(password, totpSecret\)$/,
  )
})

test('the next code is the one that counts from the next time step on', () => {
  const { now, next, nextAtMs } = codes(secret, 1_700_000_007_000)
  expect(nextAtMs).toBe(1_700_000_010_000)
  vi.useFakeTimers({ now: 1_700_000_007_000 })
  expect(currentCode(secret)).toBe(now)
  vi.setSystemTime(nextAtMs)
  expect(currentCode(secret)).toBe(next)
  vi.useRealTimers()
  expect(next).not.toBe(now)
})
