import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EgressError } from './egress.ts'
import { Turns } from './turns.ts'

const never = new AbortController().signal
const room = { atOnce: 4, perKey: 2, waiting: 6, waitingPerKey: 3 }

/** Work that ends when it is told, by the order in which it began. */
function jobs(turns: Turns) {
  const begun: { key: string; end: () => void }[] = []
  const ended: Promise<unknown>[] = []
  const start = (key: string, signal = never) => {
    const job = turns.run(key, signal, () => new Promise<void>((end) => begun.push({ key, end })))
    const settled = job.then(
      () => 'done',
      (error: unknown) => (error instanceof EgressError ? error.code : String(error)),
    )
    ended.push(settled)
    return settled
  }
  return { begun, ended, start, keys: () => begun.map(({ key }) => key).join('') }
}
const turnOver = () => new Promise((resolve) => setImmediate(resolve))

test('a key has its own limit, all have one together, and turns go round the keys', async () => {
  const turns = new Turns(room)
  const { begun, start, keys, ended } = jobs(turns)
  for (const key of ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c']) void start(key)
  await turnOver()
  expect(keys()).toBe('aabb')
  begun[0]?.end()
  await turnOver()
  expect(keys()).toBe('aabba')
  begun[2]?.end()
  await turnOver()
  expect(keys()).toBe('aabbab')
  begun[1]?.end()
  await turnOver()
  // of c, that had nothing yet, before the fourth of a
  expect(keys().slice(-1)).toBe('c')
  for (let at = 0; at < begun.length; at++) {
    begun[at]?.end()
    await turnOver()
  }
  await Promise.all(ended)
  expect([keys().length, turns.idle]).toEqual([8, true])
})

test('who finds no room even to wait is told so at once', async () => {
  const { begun, start } = jobs(new Turns(room))
  const answers = Array.from({ length: 6 }, () => start('a'))
  expect(await answers[5]).toBe('BUSY')
  for (const key of ['b', 'b', 'b', 'b', 'b', 'c']) void start(key)
  expect(await start('d')).toBe('BUSY')
  expect(begun).toHaveLength(4)
})

test('who gives up waiting leaves the line, and by a time limit hears that there was no turn', async () => {
  const turns = new Turns(room)
  const { begun, start } = jobs(turns)
  void start('a')
  void start('a')
  const [gone, late] = [new AbortController(), new AbortController()]
  const [first, second] = [start('a', gone.signal), start('a', late.signal)]
  gone.abort(new Error('no more'))
  late.abort(new EgressError('TIMED_OUT', 'x'))
  expect([await first, await second]).toEqual(['Error: no more', 'BUSY'])
  for (const { end } of begun) end()
  await turnOver()
  expect([begun.length, turns.idle]).toEqual([2, true])
})

test('however calls come, end and give up: no limit is passed, no turn is lost and none is left over', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    what: fc.constantFrom('start', 'start', 'end', 'abort'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const turns = new Turns(room)
      const running = new Map<string, number>()
      const ends: (() => void)[] = []
      const stops: AbortController[] = []
      const all: Promise<unknown>[] = []
      const count = (key: string, by: number) => running.set(key, (running.get(key) ?? 0) + by)
      const work = (key: string) => async () => {
        count(key, 1)
        expect(running.get(key)).toBeLessThanOrEqual(room.perKey)
        expect([...running.values()].reduce((a, b) => a + b)).toBeLessThanOrEqual(room.atOnce)
        await new Promise<void>((end) => ends.push(end))
        count(key, -1)
      }
      for (const { key, what } of steps) {
        if (what === 'end') ends.shift()?.()
        else if (what === 'abort') stops.shift()?.abort(new Error('stop'))
        else {
          const stop = new AbortController()
          stops.push(stop)
          all.push(turns.run(key, stop.signal, work(key)).catch(() => undefined))
        }
        await turnOver()
      }
      while (ends.length > 0) {
        ends.shift()?.()
        await turnOver()
      }
      await Promise.all(all)
      expect(turns.idle).toBe(true)
    }),
    { numRuns: 60 },
  )
})
