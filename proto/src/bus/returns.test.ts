import { expect, test } from 'vitest'
import { onReturn } from './returns.ts'

/** What is told of a bus that is in those states one after the other, the first at the start. */
function returns(first: boolean, ...later: boolean[]): number {
  let tell: (up: boolean) => void = () => undefined
  let count = 0
  const onState = (handler: (up: boolean) => void) => {
    tell = handler
    return () => undefined
  }
  onReturn({ up: first, onState }, () => count++)
  for (const up of [first, ...later]) tell(up)
  return count
}

test('a bus that goes and comes returns, each time; one that comes up does not', () => {
  expect([returns(true), returns(false, true), returns(false, false, true, true)]).toEqual([0, 0, 0])
  expect([returns(true, false, true), returns(false, true, false, true)]).toEqual([1, 1])
  expect(returns(true, false, true, true, false, false, true, false)).toBe(2)
})
