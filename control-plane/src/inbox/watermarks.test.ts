import { expect, test } from 'vitest'
import { runsOf } from './watermarks.ts'

const marks = (...times: number[]) => times.map((throughMs) => ({ shard: 3, node: 'n', throughMs }))

test('an unbroken run keeps its beginning', () => {
  expect(runsOf(marks(1000, 6000, 11_000), 30_000)).toEqual([
    { shard: 3, node: 'n', firstMs: 1000, lastMs: 11_000, resumedMs: undefined },
  ])
})

test('a gap starts the run again, the last gap counts', () => {
  const [run] = runsOf(marks(1000, 50_000, 100_000, 101_000), 30_000)
  expect(run).toMatchObject({ firstMs: 1000, resumedMs: 100_000, lastMs: 101_000 })
})

test('what is read again moves nothing back', () => {
  const [run] = runsOf(marks(10_000, 5000, 11_000), 30_000)
  expect(run).toMatchObject({ lastMs: 11_000, resumedMs: undefined })
})

test('each node has its own run in each shard', () => {
  const runs = runsOf(
    [
      { shard: 1, node: 'b', throughMs: 1 },
      { shard: 1, node: 'a', throughMs: 99_000 },
      { shard: 0, node: 'b', throughMs: 99_000 },
      { shard: 1, node: 'b', throughMs: 2 },
    ],
    30_000,
  )
  expect(runs.map((run) => [run.shard, run.node, run.resumedMs])).toEqual([
    [0, 'b', undefined],
    [1, 'a', undefined],
    [1, 'b', undefined],
  ])
})
