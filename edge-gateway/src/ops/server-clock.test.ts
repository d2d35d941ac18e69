import { expect, it, vi } from 'vitest'
import { ServerClock } from './server-clock.ts'

it.each([
  ['behind', 600_000, 600_000],
  ['ahead', -600_000, -600_000],
  ['right but for the way of an answer', -40, 0],
])('a host clock that is %s is corrected by what the server says', (_what, said, wanted) => {
  let host = 1_000_000
  const clock = new ServerClock(() => host)
  expect(clock.now()).toBe(host)
  clock.learn(host + said)
  host += 5_000
  expect(clock.now()).toBe(host + wanted)
})

it('a host clock that is set right meanwhile is believed again', () => {
  let host = 0
  const clock = new ServerClock(() => host)
  clock.learn(600_000)
  host = 601_000
  clock.learn(601_000)
  expect(clock.now()).toBe(601_000)
})

it('an answer that says no time changes nothing', () => {
  const clock = new ServerClock(() => 1_000)
  clock.learn(0)
  expect(clock.now()).toBe(1_000)
})

it('a host clock that is set while this runs does not move it, and it tells whole milliseconds', () => {
  const clock = new ServerClock()
  const before = clock.now()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  const after = clock.now()
  vi.useRealTimers()
  expect(after - before).toBeLessThan(60_000)
  expect(Number.isInteger(after)).toBe(true)
})
