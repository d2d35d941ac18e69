import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeRelease } from '../../../../../tools/release/write.ts'
import { testApp } from '../../../../test/harness/app.ts'
import { makeRelease } from '../../../../test/harness/release.ts'

const t = await testApp()
const admin = await t.people.platformAdmin()
const reader = await t.people.orgViewer(await t.make.org())
const folder = t.config.binaryDir ?? ''

const file = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251))
const helper = Buffer.from('helper')
const old = makeRelease('1.0.0', 1)
const made = makeRelease('1.1.0', 2, { files: { agent: file, helper } })
for (const release of [old, made]) writeRelease(folder, release)

const sync = (version?: string) =>
  t.request('POST /agent-versions/sync-github', admin, version === undefined ? {} : { query: { version } })
const synced = [await sync('1.0.0'), await sync()]

/** Downloads as bytes. */
async function fetchAgent(query = '', headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  const url = `/api/v1/agents/download/linux/amd64${query}`
  const { statusCode, headers: got, rawPayload } = await t.app.inject({ method, url, headers })
  return { status: statusCode, headers: got, bytes: rawPayload }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('with BINARY_SOURCE=local releases are read from the disk; the newest stable one when none is named', () => {
  expect(synced.map(({ status, body }) => [status, body.version])).toEqual([
    [200, '1.0.0'],
    [200, '1.1.0'],
  ])
  expect(synced[1]?.body.synced).toEqual(
    expect.arrayContaining(['agent:linux/amd64', 'helper:windows/arm64']),
  )
})

test('the list shows each release with its files and which of them are the latest', async () => {
  const { body } = await t.request('GET /agent-versions', reader)
  expect(body.data.map((one: { version: string; isLatest: boolean }) => [one.version, one.isLatest])).toEqual(
    [
      ['1.1.0', true],
      ['1.0.0', false],
    ],
  )
  expect(body.data[0].assets).toHaveLength(12)
  expect(body.data[0].assets[0]).toEqual({
    component: 'agent',
    platform: 'linux',
    arch: 'amd64',
    name: 'svc-agent-1.1.0-linux-amd64',
    fileSize: file.length,
    checksum: sha256(file),
    isLatest: true,
  })
})

test('the latest says where it is on this server', async () => {
  const query = { platform: 'darwin', arch: 'x64', component: 'helper' }
  const { body } = await t.request('GET /agent-versions/latest', reader, { query })
  expect(body).toMatchObject({
    version: '1.1.0',
    platform: 'macos',
    arch: 'amd64',
    component: 'helper',
    downloadUrl: 'http://svc.test/api/v1/agents/download/macos/amd64?version=1.1.0&component=helper',
  })
  const { pathname, search } = new URL(body.downloadUrl)
  const { rawPayload } = await t.app.inject({ url: pathname + search })
  expect(rawPayload).toEqual(helper)
})

test('anybody downloads the latest agent, with its length and what proves it', async () => {
  const { status, headers, bytes } = await fetchAgent()
  expect(status).toBe(200)
  expect(bytes.equals(file)).toBe(true)
  expect(headers).toMatchObject({
    'content-length': String(file.length),
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="svc-agent-1.1.0-linux-amd64"',
    etag: `"${sha256(file)}"`,
    'repr-digest': `sha-256=:${Buffer.from(sha256(file), 'hex').toString('base64')}:`,
    'accept-ranges': 'bytes',
  })
  const head = await fetchAgent('', {}, 'HEAD')
  expect([head.status, head.headers['content-length'], head.bytes.length]).toEqual([
    200,
    String(file.length),
    0,
  ])
})

test('an older version is there for whoever names it', async () => {
  for (const version of ['1.0.0', 'v1.0.0']) {
    const { bytes } = await fetchAgent(`?version=${version}`)
    expect(bytes.toString()).toContain('echo 1.0.0')
  }
  const query = { platform: 'linux', arch: 'amd64' }
  expect((await t.request('GET /agent-versions/1.0.0/download', reader, { query })).body).toContain(
    'echo 1.0.0',
  )
  expect((await t.request('GET /agent-versions/1.0.0/download', null, { query })).status).toBe(401)
})

test('who has the bytes already is told so', async () => {
  const { status, bytes } = await fetchAgent('', { 'if-none-match': `"other", "${sha256(file)}"` })
  expect([status, bytes.length]).toEqual([304, 0])
})

test.each([
  ['bytes=0-9', 0, 9],
  ['bytes=99990-', 99_990, 99_999],
  ['bytes=-10', 99_990, 99_999],
  ['bytes=99990-200000', 99_990, 99_999],
])('a broken download goes on: %s', async (range, start, end) => {
  const { status, headers, bytes } = await fetchAgent('', { range })
  expect(status).toBe(206)
  expect(headers).toMatchObject({
    'content-range': `bytes ${start}-${end}/100000`,
    'content-length': String(end - start + 1),
  })
  expect(bytes.equals(file.subarray(start, end + 1))).toBe(true)
})

test('a range of nothing is 416; what is no range, or of other bytes, is all of it', async () => {
  expect((await fetchAgent('', { range: 'bytes=100000-' })).status).toBe(416)
  for (const headers of [
    { range: 'bytes=5-2' },
    { range: 'bytes=0-1,5-6' },
    { range: 'lines=1-2' },
    { range: 'bytes=0-9', 'if-range': '"other"' },
  ]) {
    const { status, bytes } = await fetchAgent('', headers)
    expect([status, bytes.length]).toEqual([200, file.length])
  }
})

test.each([
  ['/agents/download/plan9/amd64', 400],
  ['/agents/download/linux/mips', 400],
  ['/agents/download/__proto__/amd64', 400],
  ['/agents/download/linux/amd64?version=../../etc/passwd', 400],
  ['/agents/download/linux/amd64?version=9.9.9', 404],
  ['/agents/download/linux/amd64?component=watchdog', 400],
] as const)('GET %s is %i', async (path, status) => {
  expect((await t.request(`GET ${path}`)).status).toBe(status)
})

test('the latest of what nobody released is 404, of what is no target 400', async () => {
  const query = { platform: 'linux', arch: 'amd64' }
  expect(
    (await t.request('GET /agent-versions/latest', reader, { query: { platform: 'linux' } })).status,
  ).toBe(400)
  await t.owner`update svc.release_assets set is_latest = false where kind = 'helper' and os = 'windows'`
  const missing = { ...query, platform: 'windows', component: 'helper' }
  expect((await t.request('GET /agent-versions/latest', reader, { query: missing })).status).toBe(404)
})

test('a version that is no folder, or a folder that is no release, is 404', async () => {
  expect((await sync('7.7.7')).status).toBe(404)
  expect((await sync('1.0')).status).toBe(400)
})

test('a file that was changed after it was registered is not sent', async () => {
  writeRelease(folder, makeRelease('1.2.0', 3))
  expect((await sync()).status).toBe(200)
  const path = join(folder, '1.2.0', 'svc-agent-1.2.0-linux-amd64')
  writeFileSync(path, 'something else altogether, and longer than before')
  const changed = await fetchAgent('?version=1.2.0')
  rmSync(path)
  const gone = await fetchAgent('?version=1.2.0')
  for (const { status, bytes } of [changed, gone]) {
    expect([status, JSON.parse(bytes.toString()).error.code]).toEqual([502, 'RELEASE_HOST_FAILED'])
  }
})

test('the API’s role can register releases, and neither change nor remove them', async () => {
  const pool = t.core.pools.app
  await expect(pool`update releases set sequence = 0`).rejects.toThrow('permission denied')
  await expect(pool`update release_assets set sha256 = ''`).rejects.toThrow('permission denied')
  await expect(pool`delete from releases`).rejects.toThrow('permission denied')
})
