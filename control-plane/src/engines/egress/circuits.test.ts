import { expect, test } from 'vitest'
import { Circuits, type Verdict } from './circuits.ts'

/** A circuit whose time the test moves, and calls that end as they are told. */
function circuit() {
  const time = { now: 0 }
  const circuits = new Circuits({ failures: 3, pauseMs: 100, longestPauseMs: 350, now: () => time.now })
  const call = (verdict: Verdict, name = 'a') =>
    circuits
      .run(
        name,
        () => verdict,
        () => (verdict === 'good' ? Promise.resolve('answer') : Promise.reject(new Error(verdict))),
      )
      .catch((error: { code?: string; message: string }) => error.code ?? error.message)
  return { time, circuits, call }
}

test('it opens after so many failures in a row, and lets nobody through', async () => {
  const { call } = circuit()
  expect([await call('bad'), await call('bad'), await call('good')]).toEqual(['bad', 'bad', 'answer'])
  expect([await call('bad'), await call('neither'), await call('bad'), await call('bad')]).toEqual([
    'bad',
    'neither',
    'bad',
    'bad',
  ])
  expect([await call('good'), await call('good', 'b')]).toEqual(['CIRCUIT_OPEN', 'answer'])
})

test('after a pause one call decides, and no second one beside it', async () => {
  const { time, call, circuits } = circuit()
  for (let i = 0; i < 3; i++) await call('bad')
  time.now = 99
  expect(await call('good')).toBe('CIRCUIT_OPEN')
  time.now = 100
  let end: (value: string) => void = () => undefined
  const trial = circuits.run(
    'a',
    () => 'bad',
    () => new Promise<string>((resolve) => (end = resolve)),
  )
  expect(await call('good')).toBe('CIRCUIT_OPEN')
  end('works')
  expect(await trial).toBe('works')
  expect(await call('good')).toBe('answer')
})

test('each trial that fails doubles the pause, up to a longest one; one that says nothing leaves the next', async () => {
  const { time, call } = circuit()
  for (let i = 0; i < 3; i++) await call('bad')
  for (const pause of [100, 200, 350, 350]) {
    time.now += pause - 1
    expect(await call('bad')).toBe('CIRCUIT_OPEN')
    time.now += 1
    expect(await call('neither')).toBe('neither')
    expect(await call('bad')).toBe('bad')
  }
})
