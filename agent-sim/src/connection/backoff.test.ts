import { expect, it } from 'vitest'
import { fullJitter } from './backoff.ts'
import { comeback } from './comeback.ts'

const samples = (attempt: number, n = 20_000) =>
  Array.from({ length: n }, () => fullJitter(Math.random, attempt))

it('draws uniformly from zero to the window, after the cap: the whole range is used and no beat is shared', () => {
  for (const [attempt, windowMs] of [
    [0, 1_000],
    [3, 8_000],
    [7, 120_000],
    [40, 120_000],
  ] as const) {
    const tenths = Array.from({ length: 10 }, () => 0)
    for (const ms of samples(attempt)) {
      const tenth = Math.floor((ms / windowMs) * 10)
      tenths[tenth] = (tenths[tenth] ?? 0) + 1
    }
    expect(tenths).toHaveLength(10)
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(300)
  }
})

it('counts failures up, and from the start again after 60 healthy seconds', () => {
  const half = () => 0.5
  expect(comeback({ reason: 'PEER_CLOSED' }, 0, half)).toEqual({ stop: false, inMs: 500, attempt: 1 })
  expect(comeback({ reason: 'PEER_CLOSED' }, 4, half)).toEqual({ stop: false, inMs: 8_000, attempt: 5 })
  expect(comeback({ reason: 'PEER_CLOSED', livedMs: 59_999 }, 4, half)).toMatchObject({ inMs: 8_000 })
  expect(comeback({ reason: 'PEER_CLOSED', livedMs: 60_000 }, 4, half)).toEqual({
    stop: false,
    inMs: 500,
    attempt: 1,
  })
})

it('comes back not before a retry-after, and still spread', () => {
  const early = comeback({ reason: 'ADMISSION_RATE', retryAfterMs: 5_000 }, 3, () => 0)
  const late = comeback({ reason: 'ADMISSION_RATE', retryAfterMs: 5_000 }, 3, () => 0.999)
  expect(early).toMatchObject({ inMs: 5_000 })
  expect(late.stop ? 0 : late.inMs).toBeGreaterThan(12_000)
})

it('stops for a dead credential whatever else was said, and moves when asked to', () => {
  expect(comeback({ reason: 'CREDENTIAL_REVOKED', retryAfterMs: 5_000, moveInMs: 1 }, 0, () => 0)).toEqual({
    stop: true,
  })
  expect(comeback({ reason: 'DECOMMISSIONED' }, 0, () => 0)).toEqual({ stop: true })
  expect(comeback({ reason: 'DRAINING', moveInMs: 700 }, 6, () => 1)).toEqual({
    stop: false,
    inMs: 700,
    attempt: 0,
  })
})
