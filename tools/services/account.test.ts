import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { reachable, unprivileged } from './account.ts'
import { placeData } from './postgres-data.ts'
import { systemFolder } from './postgres-files.ts'

const home = mkdtempSync(join(tmpdir(), 'svc-home-')) // mode 0700, as a root home has
afterAll(() => rmSync(home, { recursive: true, force: true }))
const stranger = { uid: 65_533, gid: 65_533 }
const wanted = join(home, 'project/.svc/postgres')

describe('under a home that lets nobody through', () => {
  test('nothing can be reached, not even what does not exist yet', () => {
    expect(reachable(wanted, stranger)).toBe(false)
    mkdirSync(join(home, 'project'))
    expect(reachable(wanted, stranger)).toBe(false)
  })

  test('data go to the system folder, each project to its own', () => {
    const place = placeData(wanted, stranger)
    expect(place).toMatch(new RegExp(`^${systemFolder}/postgres-[0-9a-f]{12}$`))
    expect(placeData(join(home, 'other/.svc/postgres'), stranger)).not.toBe(place)
  })

  test('data stay where they are for an ordinary user', () => {
    expect(placeData(wanted, undefined)).toBe(wanted)
  })
})

test('one more bit on the way is enough', () => {
  chmodSync(home, 0o711)
  expect(reachable(wanted, stranger)).toBe(true)
  expect(placeData(wanted, stranger)).toBe(wanted)
})

test.runIf(process.getuid?.() === 0)('root hands the server to a user without power', () => {
  expect(unprivileged(wanted)?.uid).toBeGreaterThan(0)
})
