import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { databaseForFile } from '../test/harness/database.ts'
import { startProgram as start } from '../test/harness/program.ts'

const database = await databaseForFile()
const keysDir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
afterAll(() => rmSync(keysDir, { recursive: true }))

const least = {
  DATABASE_URL: database.url,
  KEYS_DIR: keysDir,
  EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
}
const anyPorts = { PORT: '0', INTERNAL_PORT: '0', METRICS_PORT: '0' }

test('a variable that is missing or wrong: one line that names it, exit 78', async () => {
  expect(await start({}).ended).toEqual({ code: 78, err: 'DATABASE_URL: is not set' })
  const wrong = await start({ ...least, PORT: 'x' }).ended
  expect(wrong).toMatchObject({ code: 78, err: expect.stringMatching(/^PORT: [^\n]+$/) })
  expect((await start(least, ['--role', 'king']).ended).code).toBe(78)
})

test('a port in use: one line that names it and its variable, exit 1', async () => {
  const squatter = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => squatter.once('listening', resolve))
  const { port } = squatter.address() as AddressInfo
  const ended = await start({ ...least, ...anyPorts, PORT: String(port) }).ended
  expect(ended).toEqual({ code: 1, err: `port ${port} on 127.0.0.1 is in use: set PORT to another` })
  squatter.close()
})

test('a host that is not ours: one line that names it and its variable, exit 1', async () => {
  const ended = await start({ ...least, ...anyPorts, INTERNAL_HOST: '203.0.113.5' }).ended
  expect(ended).toEqual({
    code: 1,
    err: '203.0.113.5 is no address of this machine: set INTERNAL_HOST to one',
  })
})

test('a database that does not let it in: one line without the password, exit 1', async () => {
  const at = new URL(database.url)
  const known = `DATABASE_URL: cannot use ${at.host}`
  const changed = (change: (url: URL) => void) => {
    const url = new URL(database.url)
    change(url)
    return start({ ...least, ...anyPorts, DATABASE_URL: url.href }).ended
  }
  const wrong = await changed((url) => {
    url.password = 'not-the-password'
  })
  expect(wrong).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^[^\n]+password authentication failed[^\n]+$/),
  })
  expect(wrong.err).not.toContain('not-the-password')
  const absent = await changed((url) => {
    url.pathname = '/nowhere'
  })
  expect(absent).toEqual({ code: 1, err: `${known}/nowhere: database "nowhere" does not exist` })
  const away = await changed((url) => {
    url.port = '1'
  })
  expect(away).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^DATABASE_URL: [^\n]+ECONNREFUSED[^\n]+$/),
  })
})

test('SIGTERM ends it in an orderly way: exit 0', async () => {
  const { kill, isUp, ended } = start({ ...least, ...anyPorts })
  const { apiUrl } = await isUp
  expect((await fetch(`${apiUrl}/health`)).status).toBe(200)
  kill('SIGTERM')
  expect(await ended).toEqual({ code: 0, err: '' })
})
