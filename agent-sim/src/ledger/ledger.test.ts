import { appendFile, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/manual-clock.ts'
import { DiskLedger } from './disk.ts'
import { type Change, type Ledger, replayMarginMs } from './ledger.ts'
import { MemoryLedger } from './memory.ts'

const clock = new ManualClock()
let folder = ''
let made = 0
const fresh = () => join(folder, String((made += 1)))
const troubles: string[] = []
const untroubled = (text: string) => void troubles.push(text)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const received = (id: string, seq = 1): Change => ({
  state: 'received',
  id,
  body: Buffer.from(`body of ${id}`),
  attempt: 1,
  seq,
  expiresAtMs: clock.now() + 1_000,
})
const resultOf = (id: string) =>
  svc.v1.CommandResult.encode({
    commandId: id,
    outcome: svc.v1.Outcome.FAILED,
    exitCode: 3,
    stdout: { data: Buffer.from('long output'), encoding: 'utf-8', originalSize: 11 },
  }).finish()
const finished = (id: string): Change => ({ state: 'finished', id, result: resultOf(id) })

const kinds: [string, () => Promise<Ledger>][] = [
  ['in memory', async () => new MemoryLedger(clock)],
  ['on disk', () => DiskLedger.open(fresh(), clock, untroubled)],
]

describe.each(kinds)('a ledger %s', (_name, open) => {
  it('shows a change at once and follows a command from receipt to ack', async () => {
    const ledger = await open()
    const write = ledger.write(received('a', 7))
    expect(ledger.find('a')).toMatchObject({ state: 'received', attempt: 1 })
    await write
    expect(Buffer.from(ledger.find('a')?.body ?? []).toString()).toBe('body of a')
    expect(ledger.head).toBe(7)
    await ledger.write({ state: 'started', id: 'a', atMs: 5 })
    expect(ledger.find('a')).toMatchObject({ state: 'started', startedAtMs: 5 })
    await ledger.write(finished('a'))
    expect(ledger.find('a')?.body).toBeUndefined()
    expect(svc.v1.CommandResult.decode(ledger.find('a')?.result ?? new Uint8Array())).toMatchObject({
      exitCode: 3,
    })
    expect(ledger.open()).toHaveLength(1)
    await ledger.write({ state: 'acked', id: 'a' })
    expect(ledger.open()).toHaveLength(0)
    await ledger.close()
  })

  it('keeps of an acked result what answers a replay, without the outputs', async () => {
    const ledger = await open()
    await ledger.write(received('a'))
    await ledger.write(finished('a'))
    await ledger.write({ state: 'acked', id: 'a' })
    const result = svc.v1.CommandResult.decode(ledger.find('a')?.result ?? new Uint8Array())
    expect(result).toMatchObject({ commandId: 'a', exitCode: 3 })
    expect(result.stdout).toMatchObject({ truncated: true, originalSize: 11 })
    expect(result.stdout?.data ?? []).toHaveLength(0)
    await ledger.close()
  })

  it('refuses what does not follow', async () => {
    const ledger = await open()
    const late: Change[] = [
      { state: 'started', id: 'a', atMs: 1 },
      finished('a'),
      { state: 'acked', id: 'a' },
    ]
    for (const change of late)
      await expect(async () => ledger.write(change)).rejects.toThrow('unknown command')
    await ledger.write(received('a'))
    await expect(async () => ledger.write(received('a'))).rejects.toThrow('twice')
    await expect(async () => ledger.write({ state: 'acked', id: 'a' })).rejects.toThrow('cannot become acked')
    await ledger.write(finished('a'))
    await expect(async () => ledger.write({ state: 'started', id: 'a', atMs: 1 })).rejects.toThrow(
      'is finished',
    )
    await ledger.close()
  })

  it('forgets what could not be written', async () => {
    const ledger = await open()
    await ledger.write(received('a'))
    ledger.forget('a')
    expect(ledger.find('a')).toBeUndefined()
    await ledger.close()
  })
})

it('in memory keeps an id until its expiry and margin are past, and what is not acked for ever', async () => {
  const clock = new ManualClock()
  const ledger = new MemoryLedger(clock)
  const expiresAtMs = clock.now() + 1_000
  for (const id of ['acked', 'open']) {
    await ledger.write({ ...received(id), expiresAtMs } as Change)
    await ledger.write(finished(id))
  }
  await ledger.write({ state: 'acked', id: 'acked' })
  const busy = async () => {
    for (let i = 0; i < 64; i += 1) await ledger.write(received(`${clock.now()}-${i}`))
  }
  await clock.advance(1_000 + replayMarginMs)
  await busy()
  expect(ledger.find('acked')).toBeDefined()
  await clock.advance(1)
  await busy()
  expect(ledger.find('acked')).toBeUndefined()
  expect(ledger.find('open')).toBeDefined()
})

it('on disk comes back as it was, in files for the owner alone', async () => {
  const dir = fresh()
  const ledger = await DiskLedger.open(dir, clock, untroubled)
  await Promise.all(['r', 's', 'f', 'a'].map((id, seq) => ledger.write(received(id, seq))))
  await ledger.write({ state: 'started', id: 's', atMs: 9 })
  await ledger.write(finished('f'))
  await ledger.write(finished('a'))
  await ledger.write({ state: 'acked', id: 'a' })
  await ledger.close()
  for (let opened = 0; opened < 2; opened += 1) {
    const again = await DiskLedger.open(dir, clock, untroubled)
    expect(['r', 's', 'f', 'a'].map((id) => again.find(id)?.state)).toEqual([
      'received',
      'started',
      'finished',
      'acked',
    ])
    expect(again.find('s')?.startedAtMs).toBe(9)
    expect(again.find('f')?.result).toEqual(Buffer.from(resultOf('f')))
    expect(again.head).toBe(3)
    await again.close()
  }
  expect((await stat(join(dir, 'ledger.jsonl'))).mode & 0o777).toBe(0o600)
})

it('on disk leaves out damaged lines and what hangs on them, and goes on after them', async () => {
  const dir = fresh()
  const ledger = await DiskLedger.open(dir, clock, untroubled)
  await ledger.write(received('whole'))
  await ledger.close()
  const path = join(dir, 'ledger.jsonl')
  const line = await readFile(path, 'utf8')
  await appendFile(path, `garbage\n${line.replace('whole', 'other')}00000000 {}\n${line.slice(0, 40)}`)
  const again = await DiskLedger.open(dir, clock, untroubled)
  expect(again.open().map(({ id }) => id)).toEqual(['whole'])
  await again.write({ state: 'started', id: 'whole', atMs: 1 })
  await again.close()
  const third = await DiskLedger.open(dir, clock, untroubled)
  expect(third.find('whole')?.state).toBe('started')
  await third.close()
})

it('on disk rejects what cannot be written any more', async () => {
  const ledger = await DiskLedger.open(fresh(), clock, untroubled)
  await ledger.close()
  await expect(ledger.write(received('a'))).rejects.toThrow('closed')
})

it('on disk compacts while it works, losing nothing', async () => {
  const dir = fresh()
  const ledger = await DiskLedger.open(dir, clock, untroubled)
  const body = Buffer.alloc(200_000, 1)
  for (let round = 0; round < 8; round += 1) {
    const ids = Array.from({ length: 5 }, (_, at) => `${round}-${at}`)
    await Promise.all(ids.map((id) => ledger.write({ ...received(id), body } as Change)))
    // Not awaited: changes meet a compaction under way.
    const rest = ids.flatMap((id) => [ledger.write(finished(id)), ledger.write({ state: 'acked', id })])
    await Promise.all(rest)
  }
  await ledger.write(received('last'))
  await ledger.close()
  expect((await stat(join(dir, 'ledger.jsonl'))).size).toBeLessThan(8_000_000)
  const again = await DiskLedger.open(dir, clock, untroubled)
  expect(again.open().map(({ id }) => id)).toEqual(['last'])
  expect(again.find('0-0')?.state).toBe('acked')
  await again.close()
  expect((await stat(join(dir, 'ledger.jsonl'))).size).toBeLessThan(50_000)
})

it('on disk goes on, and says so, where it cannot be made smaller', async () => {
  expect(troubles).toEqual([])
  const dir = fresh()
  const ledger = await DiskLedger.open(dir, clock, untroubled)
  const inTheWay = join(dir, 'ledger.jsonl.new')
  await mkdir(inTheWay)
  const body = Buffer.alloc(2_500_000, 1)
  await ledger.write({ ...received('large'), body } as Change)
  await ledger.write({ ...received('larger'), body } as Change)
  await ledger.write(received('last'))
  await ledger.close()
  expect(troubles.splice(0)).toEqual([expect.stringContaining('the ledger cannot be made smaller: EISDIR')])
  await rm(inTheWay, { recursive: true })
  const again = await DiskLedger.open(dir, clock, untroubled)
  expect(again.open().map(({ id }) => id)).toEqual(['large', 'larger', 'last'])
  await again.close()
})
