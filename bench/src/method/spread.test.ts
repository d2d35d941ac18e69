import { expect, it } from 'vitest'
import { measured, ratioOf, spreadOf } from './spread.ts'

const round = (side: string, number: number, value: number) => ({
  side,
  round: number,
  seen: { cost: value },
})

it('takes the middle of an odd number of values, and between the middle two of an even one', () => {
  expect(spreadOf([9, 1, 4])).toEqual({ median: 4, min: 1, max: 9, count: 3 })
  expect(spreadOf([9, 1, 4, 2])).toEqual({ median: 3, min: 1, max: 9, count: 4 })
  expect(spreadOf([7])).toEqual({ median: 7, min: 7, max: 7, count: 1 })
})

it('has no middle of nothing', () => {
  expect(() => spreadOf([])).toThrow('nothing was seen')
  expect(measured([round('ours', 1, 2)], 'cost', 'theirs')).toBeUndefined()
  expect(measured([round('ours', 1, 2)], 'price', 'ours')).toBeUndefined()
})

it('divides round by round, so that what both suffered goes out', () => {
  const rounds = [
    ...[2, 20, 200].map((value, i) => round('ours', i + 1, value)),
    ...[400, 4, 40].map((value, i) => round('theirs', [3, 1, 2][i] ?? 0, value)),
  ]
  expect(ratioOf(rounds, 'cost', 'ours', 'theirs')).toEqual({ median: 0.5, min: 0.5, max: 0.5, count: 3 })
})

it('leaves out rounds that only one of them has, and those in which nothing was seen of the other', () => {
  const rounds = [
    round('ours', 1, 3),
    round('ours', 2, 3),
    round('ours', 3, 3),
    round('theirs', 2, 6),
    round('theirs', 3, 0),
  ]
  expect(ratioOf(rounds, 'cost', 'ours', 'theirs')).toEqual({ median: 0.5, min: 0.5, max: 0.5, count: 1 })
  expect(ratioOf(rounds.slice(0, 1), 'cost', 'ours', 'theirs')).toBeUndefined()
})
