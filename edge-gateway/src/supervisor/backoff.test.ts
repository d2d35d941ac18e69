import { expect, it } from 'vitest'
import { delayMs } from './backoff.ts'

it('the pause before a replacement doubles, up to half a minute, and is spread over its upper half', () => {
  const longest = Array.from({ length: 10 }, (_, n) => delayMs(n, 1))
  expect(longest).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  expect([delayMs(0, 0), delayMs(2_000, 0)]).toEqual([125, 15_000])
})
