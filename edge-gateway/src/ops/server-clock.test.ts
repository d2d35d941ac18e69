import { expect, it } from 'vitest'
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
