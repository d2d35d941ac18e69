import fc from 'fast-check'
import { expect, test } from 'vitest'
import { copies } from './instances.ts'
import { type Known, seeAll, type Sighting } from './sighting.ts'

const minute = 60_000

/** Connections in order, a second apart, each of the process of that name. */
const connections = (instances: readonly string[], everyMs = 1_000, mayFollow = false): Sighting[] =>
  instances.map((instance, n) => ({
    deviceId: 'd',
    epoch: n + 1,
    instance,
    atMs: 1_000_000 + n * everyMs,
    mayFollow,
  }))

/** Looked at one by one, as they come. */
function look(sightings: readonly Sighting[]): { known: Known | undefined; two: boolean } {
  let known: Known | undefined
  for (const sighting of sightings) {
    const seen = seeAll(known, [sighting])
    if (seen.two) return seen
    known = seen.known
  }
  return { known, two: false }
}

test('two that take turns are two, after more than three returns', () => {
  expect(look(connections(['a', 'b', 'a', 'b', 'a'])).two).toBe(false)
  expect(look(connections(['a', 'b', 'a', 'b', 'a', 'b'])).two).toBe(true)
})

test('a thief that is another each time brings the device back often enough', () => {
  expect(look(connections(['a', 'x', 'a', 'y', 'a', 'z', 'a', 'w', 'a'])).two).toBe(true)
})

test('returns that are far apart are none', () => {
  const slow = copies.withinMs / 3 + minute
  expect(look(connections(['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b'], slow)).two).toBe(false)
})

test('one process alone is never two, nor is one after the other', () => {
  const lives = fc.array(fc.tuple(fc.uuid(), fc.integer({ min: 1, max: 20 })), { maxLength: 20 })
  fc.assert(
    fc.property(lives, (all) => {
      const names = all.flatMap(([name, times], life) =>
        Array.from({ length: times }, () => `${life} ${name}`),
      )
      expect(look(connections(names)).two).toBe(false)
    }),
  )
})

test('a name that comes after its connection is that connection’s', () => {
  const late = (names: readonly string[]) =>
    connections(names, 1_000, true).flatMap((one) => [{ ...one, instance: '' }, one])
  expect(look(late(['a', 'a', 'a', 'a', 'a', 'a', 'a'])).two).toBe(false)
  expect(look(late(['a', 'b', 'a', 'b', 'a', 'b'])).two).toBe(true)
})

test('whoever never gives a name is somebody, too', () => {
  const named = connections(['a', '', 'a', '', 'a', '', 'a', '', 'a', '', 'a'], 1_000, true)
  expect(look(named).two).toBe(true)
  expect(look(connections(['', '', '', '', '', '', ''], 1_000, true)).two).toBe(false)
})

test('what is read twice, or late, changes nothing', () => {
  const histories = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(histories, fc.array(fc.nat(11), { maxLength: 12 }), (names, again) => {
      const all = connections(names)
      const once = look(all)
      const twice = look([...all, ...again.flatMap((n) => all[n % all.length] ?? [])])
      expect(twice.two).toBe(once.two)
      if (!once.two) expect(twice.known).toEqual(once.known)
    }),
  )
})

test('nothing is written where the same process comes back', () => {
  const first = look(connections(['a'])).known
  expect(look(connections(['a', 'a', 'a'])).known).toEqual(first)
})
