import { expect, it } from 'vitest'
import { Acks } from './acks.ts'

const waiting = () => {
  const given: number[] = []
  let refusals = 0
  const acks = new Acks(
    (messageId) => void given.push(messageId),
    () => {
      refusals++
    },
  )
  return { acks, given, refusals: () => refusals }
}

it('acknowledges in the order of arrival, whatever is accepted first', () => {
  const { acks, given } = waiting()
  const [first, second, third] = [7, 8, 7].map((messageId) => acks.expect(messageId))
  second?.(true)
  expect([given, acks.size]).toEqual([[], 3])
  first?.(true)
  expect([given, acks.size]).toEqual([[7, 8], 1])
  third?.(true)
  expect([given, acks.size]).toEqual([[7, 8, 7], 0])
})

it('acknowledges nothing that was not accepted, and nothing behind it', () => {
  const { acks, given, refusals } = waiting()
  const [first, second] = [1, 2].map((messageId) => acks.expect(messageId))
  first?.(false)
  second?.(true)
  expect([given, refusals()]).toEqual([[], 1])
})
