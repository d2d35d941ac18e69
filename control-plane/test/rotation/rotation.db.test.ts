import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { readMasterKeys } from '../../src/adapters/master-keys.ts'
import { openPool } from '../../src/adapters/postgres.ts'
import { type Holding, holdKeys } from '../../src/engines/secrets/hold.ts'
import { Keyring } from '../../src/engines/secrets/keyring.ts'
import { sealedPlaces } from '../../src/engines/secrets/register.ts'
import { reseal, type ResealOptions } from '../../src/engines/secrets/reseal.ts'
import { announceKey } from '../../src/engines/secrets/rotation.ts'
import { inTransaction, workerDb } from '../../src/kernel/db.ts'
import { masterKeyCommands } from '../../src/master-key-command.ts'
import { databaseForFile } from '../harness/database.ts'
import { Values } from './values.ts'

const database = await databaseForFile()
const dir = mkdtempSync(join(inject('folder'), 'keys-'))
const pool = openPool({ url: database.url, role: 'svc_worker', max: 4, name: 'svc-worker' })
const owner = openPool({ url: database.url, max: 4, name: 'test' })
const db = workerDb(pool, { kind: 'system' })
const values = new Values(owner)
let one: Holding
let other: Holding
beforeAll(async () => {
  one = await holdKeys(pool, dir)
  other = await holdKeys(pool, dir)
})
afterAll(async () => {
  await Promise.all([one.close(), other.close()])
  await Promise.all([pool.end(), owner.end()])
  rmSync(dir, { recursive: true })
})

const { add, use, retire, show } = masterKeyCommands
const seals = async (state: string) => {
  const [row] = await owner<{ keyId: string }[]>`select key_id from svc.sealing_keys where state = ${state}`
  return row?.keyId ?? ''
}

/** Random, and the same each time. */
function seeded(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % below
  }
}

describe('a rotation, step by step', () => {
  test('a key is announced once, and seals nothing before every running process has it', async () => {
    expect(await add(database.url, dir)).toMatch(/^[0-9a-f]{8} is announced/)
    const again = await add(database.url, dir)
    expect(readMasterKeys(dir).size).toBe(2)
    const announced = await seals('announced')
    expect(again).toContain(`${announced} is announced`)
    await one.look()
    expect(one.ring.sealsUnder).not.toBe(announced)
    await owner`update svc.sealing_key_holders set key_ids = array[${one.ring.sealsUnder}]
      where process = (select process from svc.sealing_key_holders order by process desc limit 1)`
    await expect(use(database.url)).rejects.toThrow(
      /not every running process has master key .*: copy master-/,
    )
    await Promise.all([one.look(), other.look()])
    const [mine] = [one.ring.derive('cursor')]
    expect(await use(database.url)).toContain(`${announced} seals`)
    await one.look()
    expect(one.ring.sealsUnder).toBe(announced)
    // What was derived under the one before is still known, by whoever has moved on and whoever has not.
    expect(one.ring.derivedAll('cursor').some((key) => key.equals(mine))).toBe(true)
    expect(other.ring.derivedAll('cursor').some((key) => key.equals(one.ring.derive('cursor')))).toBe(true)
  })

  test('a process that has not moved on seals under the one before, and others open it', async () => {
    await values.add(other.ring, 3)
    expect((await values.check(one.ring)).lost).toEqual([])
    expect(await values.left(await seals('retiring'))).toBe(3)
    await expect(retire(database.url)).rejects.toThrow(/sealed under still by .*process/)
    await other.look()
    await expect(retire(database.url)).rejects.toThrow(/still: users.totp_secret 3/)
    expect(await show(database.url)).toMatch(
      /retiring since .*: users.totp_secret 3; 2 of 2 running processes/,
    )
  })

  test('it retires a day later, when nothing is under it; then nothing can come under it again', async () => {
    const old = await seals('retiring')
    const sleeper = {
      of: (text: string) =>
        other.ring.seal(text, { table: 'users', column: 'totp_secret', row: 'x', org: null }),
    }
    expect(sleeper.of('x').toString('hex', 1, 5)).toBe(await seals('sealing'))
    expect(await reseal(db, one.ring)).toEqual({ done: 3, passed: 0, stuck: 0 })
    expect(await reseal(db, one.ring)).toEqual({ done: 0, passed: 0, stuck: 0 })
    await expect(retire(database.url)).rejects.toThrow(/lives for 24 hours/)
    await owner`update svc.sealing_keys set state_since = now() - interval '24 hours' where key_id = ${old}`
    const late = other.ring.keys.find(({ id }) => id === old)
    if (!late) throw new Error('the key before is known')
    expect(await retire(database.url)).toContain(`${old} is needed no more`)
    const [id = ''] = values.expected.keys()
    await expect(values.change(new Keyring(late), id, 'late')).rejects.toMatchObject({ code: '23503' })
    expect((await values.check(one.ring)).lost).toEqual([])
    // Its file is there still; the next rotation does not lead back to it, and takes one that was made and not announced.
    expect(readMasterKeys(dir).has(old)).toBe(true)
    await expect(
      inTransaction(owner, { kind: 'system' }, async (tx) => {
        tx.later`set local role svc_owner`
        const { keyId } = await announceKey(tx, dir)
        expect(keyId).not.toBe(old)
        throw new Error(`interrupted: ${keyId}`)
      }),
    ).rejects.toThrow('interrupted')
    expect(readMasterKeys(dir).size).toBe(3)
    const acts =
      await owner`select action from svc.audit_log where action like 'master_key.%' order by at, id`
    expect(acts.map(({ action }) => action)).toEqual([
      'master_key.add',
      'master_key.add',
      'master_key.use',
      'master_key.retire',
    ])
  })
})

/** What was killed counts as running until it was silent for twenty seconds: here they are over. */
const silenceIsOver = () => owner`
  update svc.sealing_key_holders set seen_at = now() - interval '21 seconds'
  where split_part(process, '/', 2) <> ${String(process.pid)}`

/** To the next key, up to what is to be sealed anew. */
async function begin() {
  const before = readMasterKeys(dir)
  await add(database.url, dir)
  const gone = await owner<{ keyId: string }[]>`select key_id from svc.retired_master_keys`
  expect(gone.map(({ keyId }) => keyId)).not.toContain(await seals('announced'))
  expect(before.size).toBeGreaterThan(gone.length)
  await Promise.all([one.look(), other.look()])
  await use(database.url)
  await one.look()
  return seals('retiring')
}

async function finish(old: string) {
  await silenceIsOver()
  await Promise.all([one.look(), other.look()])
  await owner`update svc.sealing_keys set state_since = now() - interval '1 day' where key_id = ${old}`
  return retire(database.url)
}

/** Starts the process, and kills it so many milliseconds after it began. True: before it was done. */
async function killedAfter(ms: number): Promise<boolean> {
  const child = spawn(process.execPath, [
    '--import',
    'tsx',
    join(import.meta.dirname, 'resealer.ts'),
    database.url,
    dir,
  ])
  let err = ''
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  const ended = new Promise<boolean>((resolve, reject) => {
    child.once('close', (code, signal) =>
      signal === 'SIGKILL' || code === 0 ? resolve(signal === 'SIGKILL') : reject(new Error(err)),
    )
  })
  await Promise.race([new Promise((resolve) => child.stdout.once('data', resolve)), ended])
  await sleep(ms)
  child.kill('SIGKILL')
  return ended
}

test('killed at five random moments while others write, nothing is lost and nothing stays under the old key', async () => {
  await values.add(one.ring, 2_000)
  const old = await begin()
  const random = seeded(20_261_129)
  const ids = [...values.expected.keys()]
  const writing = new AbortController()
  let written = 0
  // One that has moved on, and one that seals under the old key for a good while.
  const writer = async (ring: typeof one.ring) => {
    while (!writing.signal.aborted) {
      const id = ids[random(ids.length)] ?? ''
      await values.change(ring, id, `${id}: ${++written}`)
      await sleep(1)
    }
  }
  const writers = [writer(one.ring), writer(other.ring)]
  const left: number[] = []
  try {
    for (let kill = 0; kill < 5; kill++) {
      expect(await killedAfter(5 + random(40))).toBe(true)
      left.push(await values.left(old))
    }
  } finally {
    writing.abort()
    await Promise.all(writers)
  }
  expect(left[0]).toBeLessThan(2_003)
  expect(left.at(-1)).toBeGreaterThan(0)
  expect(written).toBeGreaterThan(100)
  await other.look()
  const rest = await reseal(db, one.ring)
  expect(rest).toMatchObject({ stuck: 0 })
  expect(rest?.done).toBeGreaterThan(0)
  expect(await values.check(one.ring)).toEqual({ lost: [], under: [one.ring.sealsUnder] })
  expect(await finish(old)).toContain(old)
  await values.keep(100)
}, 60_000)

/** Somebody changes a value between its being read and its being written. */
async function overtaken(places: ResealOptions['places']) {
  const old = await begin()
  const [id = ''] = values.expected.keys()
  let overtook = false
  const users = places?.['users.totp_secret']
  if (!users || !('next' in users)) throw new Error('there are users')
  const slow = {
    ...users,
    next: async (...asked: Parameters<typeof users.next>) => {
      const batch = await users.next(...asked)
      if (!overtook) await values.change(one.ring, id, `${id}: newer ${old}`)
      overtook = true
      return batch
    },
  }
  const sum = await reseal(db, one.ring, { places: { ...places, 'users.totp_secret': slow } })
  const { lost } = await values.check(one.ring)
  return { sum, lost, id, old }
}

test('what somebody else wrote meanwhile stays; without the comparison it would be lost', async () => {
  const kept = await overtaken(sealedPlaces)
  expect(kept).toMatchObject({ sum: { passed: 1 }, lost: [] })
  await finish(kept.old)
  const users = sealedPlaces['users.totp_secret']
  const planted = {
    ...users,
    replace: (tx: typeof db, was: { row: string }, fresh: Buffer) =>
      tx.run`update users set totp_secret = ${fresh} where id = ${was.row}`,
  } as (typeof sealedPlaces)[string]
  const lost = await overtaken({ ...sealedPlaces, 'users.totp_secret': planted })
  expect(lost.lost).toEqual([lost.id])
  await values.change(one.ring, lost.id, 'mended')
  await finish(lost.old)
})

test('a value that does not open is passed by, told, and keeps its key', async () => {
  const [first = '', second = ''] = values.expected.keys()
  await owner`update svc.users set totp_secret = (select totp_secret from svc.users where id = ${first}) where id = ${second}`
  const old = await begin()
  const told: string[] = []
  one.ring.onUnreadable = ({ message }) => told.push(message)
  expect(await reseal(db, one.ring)).toMatchObject({ stuck: 1, done: values.expected.size - 1 })
  expect(told).toEqual([`sealed elsewhere or changed (users.totp_secret of ${second})`])
  await expect(finish(old)).rejects.toThrow('still: users.totp_secret 1')
  await values.change(one.ring, second, 'set up again')
  expect(await finish(old)).toContain(old)
})
