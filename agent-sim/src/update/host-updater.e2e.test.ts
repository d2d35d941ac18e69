import { mkdir, mkdtemp, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { FileHost } from '../../test/update/file-host.ts'
import { type OfferInput, offerOf, publicKeyOf } from '../../test/update/offers.ts'
import { systemClock } from '../clock.ts'
import { type Journal, readJournal, writeJournal } from '../launcher/journal.ts'
import { hashOf } from '../launcher/place.ts'
import { download } from './download.ts'
import { type HostUpdaterOptions, hostUpdater } from './host-updater.ts'
import { trustedKeys } from './trusted-keys.ts'
import type { Updater } from './updater.ts'

const bytes = Buffer.from('the new agent')
let host: FileHost
let stateDir: string
let bin: string
let said: string[]
let log: string[]
let autoUpdate: boolean
let left: number

beforeEach(async () => {
  host = await FileHost.open()
  host.whole(bytes)
  stateDir = await mkdtemp(join(tmpdir(), 'agent-updater-'))
  bin = join(stateDir, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'svc-agent'), 'the old agent')
  ;[said, log, autoUpdate, left] = [[], [], true, 0]
})
afterEach(async () => {
  host.close()
  // The last note may still be on its way.
  await rm(stateDir, { recursive: true, maxRetries: 10 })
})

async function updaterWith(options: Partial<HostUpdaterOptions> = {}): Promise<Updater> {
  const trusted = trustedKeys([publicKeyOf()])
  const api = 'http://127.0.0.1:1'
  const make = await hostUpdater({ stateDir, api, version: '1.0.0', launcher: '1.0.0', trusted, ...options })
  return make({
    os: 'linux',
    arch: 'amd64',
    clock: systemClock,
    random: Math.random,
    serverNow: Date.now,
    autoUpdate: () => autoUpdate,
    say: ({ phase, reason }) => said.push(`${svc.v1.UpdatePhase[phase ?? 0]} ${reason}`.trim()) > 0,
    log: (text) => log.push(text),
    makeWay: () => (left += 1),
    renew: () => {},
  })
}

const offer = (more: Partial<OfferInput> = {}) => offerOf({ version: '2.0.0', bytes, url: host.url, ...more })
const inPlace = () => readFile(join(bin, 'svc-agent'), 'utf8')
const failing = (code: string) => Promise.reject(Object.assign(new Error(code), { code }))

it('waits for a heartbeat while the file is busy, and does not download it again', async () => {
  let tries = 0
  const remove = (path: string) => ((tries += 1) < 3 ? failing('ETXTBSY') : unlink(path))
  const updater = await updaterWith({ swap: { remove, rename } })
  updater.offered(offer())
  for (const turn of [1, 2]) {
    await eventually(() => log.length).toBe(turn)
    expect([log.at(-1), left]).toEqual([expect.stringContaining('again with the next heartbeat'), 0])
    updater.beat()
  }
  await eventually(() => left).toBe(1)
  expect([tries, host.asked, await inPlace()]).toEqual([3, 1, 'the new agent'])
  expect(said.join()).not.toContain('UPDATE_FAILED')
})

it('gives up on a file that stays busy', async () => {
  const updater = await updaterWith({ swap: { remove: () => failing('EBUSY'), rename } })
  updater.offered(offer())
  await eventually(() => {
    updater.beat()
    return said.at(-1)
  }).toBe('UPDATE_FAILED text_busy')
  expect([said.filter((one) => one === 'SWAPPING').length, host.asked, await inPlace()]).toEqual([
    5,
    1,
    'the old agent',
  ])
})

it('puts the old file back when the new one cannot take its place', async () => {
  const updater = await updaterWith({ swap: { remove: unlink, rename: () => failing('ENOSPC') } })
  updater.offered(offer())
  await eventually(() => said.at(-1)).toBe('UPDATE_FAILED disk_full')
  expect([await inPlace(), left]).toEqual(['the old agent', 0])
  await eventually(async () => (await readJournal(stateDir))?.stage).toBe('failed')
  expect(await readdir(bin)).not.toContain('svc-agent.fresh')
  updater.offered(offer())
  await eventually(() => {
    updater.beat()
    return log.at(-1)
  }).toContain('rests until')
  expect(host.asked).toBe(1)
})

it('stops before the swap when updates are switched off meanwhile', async () => {
  const updater = await updaterWith()
  host.serve = (response) => {
    autoUpdate = false
    response.end(bytes)
  }
  updater.offered(offer())
  await eventually(() => said.at(-1)).toBe('UPDATE_FAILED switched_off')
  expect(await inPlace()).toBe('the old agent')
  autoUpdate = true
  host.whole(bytes)
  updater.offered(offer())
  await eventually(() => {
    updater.beat()
    return left
  }).toBe(1)
})

it('replaces nothing that no launcher would start, and nothing that is not there', async () => {
  const alone = await updaterWith({ launcher: undefined })
  alone.offered(offer())
  await eventually(() => said.at(-1)).toBe('UPDATE_FAILED not_installed')
  const launched = await updaterWith()
  launched.offered({ ...offer(), component: 'helper' })
  await eventually(() => said.length).toBe(2)
  expect([said.at(-1), host.asked]).toEqual(['UPDATE_FAILED not_installed', 0])
})

it('tells one failure once: a server counts them', async () => {
  host.whole(Buffer.from('not the agent'))
  const updater = await updaterWith()
  updater.offered(offer())
  await eventually(async () => (await readJournal(stateDir))?.stage).toBe('failed')
  expect(said).toEqual(['DOWNLOADING', 'UPDATE_FAILED bad_hash'])
})

it('is not proven by reaching the server as another version than was put in place', async () => {
  const sha256 = (await hashOf(join(bin, 'svc-agent'))) ?? ''
  const [from, to] = [
    { version: '0.9.0', sha256: 'old' },
    { version: '1.0.0', sha256 },
  ]
  const journal: Journal = { stage: 'trial', from, to, atMs: 1, starts: 1, crashes: 0, reason: '' }
  await writeJournal(stateDir, journal)
  const liar = await updaterWith({ version: '0.9.9' })
  liar.connected()
  await eventually(() => log.at(-1)).toContain('1.0.0 was put here, and it says it is 0.9.9')
  expect((await readJournal(stateDir))?.stage).toBe('trial')
  const honest = await updaterWith({ version: '1.0.0' })
  expect(honest.isFresh).toBe(true)
  honest.connected()
  await eventually(() => said.at(-1)).toBe('DONE')
  expect((await readJournal(stateDir))?.stage).toBe('proven')
})

it.each([
  ['a server that says nothing', 'download_timeout', () => (host.serve = () => {})],
  ['one that stops half way', 'download_timeout', () => host.stalls(bytes)],
  ['one that is not there', 'download_failed', () => host.close()],
])('gives up a download from %s', async (_, reason, misbehave) => {
  const url = new URL(host.url)
  misbehave()
  const { signal } = new AbortController()
  const wanted = { url, size: bytes.length, sha256: '', signal, times: { stillMs: 100, wholeMs: 5_000 } }
  await expect(download(join(stateDir, 'file'), wanted)).rejects.toMatchObject({ reason })
})
