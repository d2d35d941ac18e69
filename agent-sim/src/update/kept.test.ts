import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openConfig } from './kept-config.ts'
import { pinnedKeys } from './pinned-keys.ts'
import { keyOf, Targets } from './targets.ts'
import { publicKeyOf } from '../../test/update/offers.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'agent-targets-'))
})
afterEach(() => rm(dir, { recursive: true }))

const minuteMs = 60_000
const key = keyOf('agent', { version: '2.0.0', sha256: 'abc' })
const start = 1_000_000_000_000

it('remembers the newest sequence of each component over restarts, and never a lower one', async () => {
  const targets = await Targets.open(dir)
  await targets.accept('agent', 5)
  await targets.accept('agent', 4)
  await targets.accept('helper', 3)
  const again = await Targets.open(dir)
  expect([again.sequenceOf('agent'), again.sequenceOf('helper')]).toEqual([5, 3])
})

it('takes the one number that earlier agents kept for the agent’s', async () => {
  await writeFile(join(dir, 'releases.json'), '{"sequence": 7, "targets": {}}')
  const targets = await Targets.open(dir)
  expect([targets.sequenceOf('agent'), targets.sequenceOf('helper')]).toEqual([7, 0])
})

it('lets a file that went wrong rest, longer each time, and no other', async () => {
  let targets = await Targets.open(dir)
  expect(targets.restsUntil(key, start)).toBe(0)
  const rests: number[] = []
  for (let failure = 0; failure < 4; failure += 1) {
    const at = start + failure
    await targets.failed(key, at)
    await targets.failed(key, at)
    targets = await Targets.open(dir)
    rests.push((targets.restsUntil(key, at) - at) / minuteMs)
  }
  expect(rests).toEqual([15, 60, 1440, 1440])
  expect(targets.restsUntil(key, start + 3 + 1440 * minuteMs)).toBe(0)
  expect(targets.restsUntil(keyOf('agent', { version: '2.0.0', sha256: 'def' }), start)).toBe(0)
})

it('downloads a file three times in 24 hours at most', async () => {
  const targets = await Targets.open(dir)
  for (let hour = 0; hour < 3; hour += 1) await targets.downloading(key, start + hour * 60 * minuteMs)
  const again = await Targets.open(dir)
  expect(again.fullUntil(key, start + 180 * minuteMs)).toBe(start + 1440 * minuteMs)
  expect(again.fullUntil(key, start + 1440 * minuteMs)).toBe(0)
})

it('forgets what nobody will offer again', async () => {
  const targets = await Targets.open(dir)
  for (let number = 0; number < 34; number += 1) await targets.failed(`agent ${number}`, start + number)
  const known = await Targets.open(dir)
  const resting = Array.from({ length: 34 }, (_, number) => known.restsUntil(`agent ${number}`, start + 34))
  expect(resting.filter(Boolean)).toHaveLength(32)
  await known.failed('agent later', start + 31 * 1440 * minuteMs)
  expect((await Targets.open(dir)).restsUntil('agent 33', start + 34)).toBe(0)
})

it('keeps the configuration that came last', async () => {
  const config = await openConfig(dir)
  expect(config.present).toEqual({ version: 0, autoUpdate: true })
  const writes = [1, 2, 3].map((version) => config.take({ version, autoUpdate: version !== 3 }))
  expect(config.present).toEqual({ version: 0, autoUpdate: false })
  await Promise.all(writes)
  expect([config.present, (await openConfig(dir)).present]).toEqual([
    { version: 3, autoUpdate: false },
    { version: 3, autoUpdate: false },
  ])
})

it('trusts pinned keys, named or in a file, and nothing in place of a key that is none', async () => {
  const { keyId, publicKey } = publicKeyOf()
  const file = join(dir, 'key.pub')
  await writeFile(file, `${publicKey}\n`)
  expect(await pinnedKeys(publicKey)).toEqual([{ keyId, publicKey }])
  expect(await pinnedKeys(`${publicKey},${publicKey}`)).toHaveLength(2)
  expect(await pinnedKeys(file)).toEqual([{ keyId, publicKey }])
  await expect(pinnedKeys(`${publicKey},abc`)).rejects.toThrow('abc')
  await expect(pinnedKeys('/no/such/file')).rejects.toThrow('neither a key nor a file')
  await writeFile(file, '\n')
  await expect(pinnedKeys(file)).rejects.toThrow('--release-key')
})
