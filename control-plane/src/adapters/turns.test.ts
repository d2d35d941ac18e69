import { setImmediate as settled } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Turns } from './turns.ts'

class Full extends Error {}

/** Two at once and three that wait, with work that ends when it is told. */
function turns() {
  const made = new Turns({ atOnce: 2, maxWaiting: 3 }, () => new Full())
  const begun: number[] = []
  const ends: Record<number, { well: () => void; badly: () => void }> = {}
  const work = (n: number) =>
    made.run(() => {
      begun.push(n)
      return new Promise<number>((resolve, reject) => {
        ends[n] = { well: () => resolve(n), badly: () => reject(new Error(`${n} failed`)) }
      })
    })
  return { made, begun, ends, work }
}

test('so many are under way, so many wait in turn, and the rest is refused at once and begins nothing', async () => {
  const { made, begun, ends, work } = turns()
  const five = [1, 2, 3, 4, 5].map(work)
  await expect(work(6)).rejects.toBeInstanceOf(Full)
  await expect(work(7)).rejects.toBeInstanceOf(Full)
  expect(begun).toEqual([1, 2])
  expect(made.load()).toEqual({ running: 2, waiting: 3, refused: 2 })
  ends[2]?.well()
  await settled()
  expect(begun).toEqual([1, 2, 3])
  expect(made.load()).toEqual({ running: 2, waiting: 2, refused: 2 })
  for (const n of [1, 3, 4, 5]) {
    ends[n]?.well()
    await settled()
  }
  expect(await Promise.all(five)).toEqual([1, 2, 3, 4, 5])
  expect(begun).toEqual([1, 2, 3, 4, 5])
  expect(made.load()).toEqual({ running: 0, waiting: 0, refused: 2 })
})

test('work that fails hands its turn on as any other', async () => {
  const { made, begun, ends, work } = turns()
  const [first, second, third] = [1, 2, 3].map(work)
  await settled()
  ends[1]?.badly()
  await expect(first).rejects.toThrow('1 failed')
  expect(begun).toEqual([1, 2, 3])
  ends[2]?.well()
  ends[3]?.badly()
  expect(await second).toBe(2)
  await expect(third).rejects.toThrow('3 failed')
  expect(made.load()).toEqual({ running: 0, waiting: 0, refused: 0 })
})

test('who waits too long is refused, begins nothing, and is in nobody’s way', async () => {
  const made = new Turns({ atOnce: 1, maxWaiting: 9, waitMs: 20 }, () => new Full())
  let end = (): void => undefined
  const first = made.run(() => new Promise<void>((resolve) => (end = resolve)))
  let begun = 0
  const late = made.run(async () => begun++)
  await expect(late).rejects.toBeInstanceOf(Full)
  expect(made.load()).toEqual({ running: 1, waiting: 0, refused: 1 })
  const next = made.run(async () => 'in time')
  end()
  await first
  expect(await next).toBe('in time')
  expect(begun).toBe(0)
  expect(made.load()).toEqual({ running: 0, waiting: 0, refused: 1 })
})
