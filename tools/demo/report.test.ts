import { expect, test } from 'vitest'
import { type DemoDevice, pick, randomFrom } from './devices.ts'
import { byTransport, lostWork, percentile } from './report.ts'

const device = (runs: number): DemoDevice => ({
  id: 'd',
  via: 'websocket',
  executions: () => runs,
})
const sent = (id: string, runs: number) => ({ id, device: device(runs), tookMs: 1 })

test('work is lost when its row is missing, its state is not success, or it did not run exactly once', () => {
  const statuses = new Map([
    ['a', 'succeeded'],
    ['b', 'failed'],
    ['c', 'succeeded'],
    ['d', 'succeeded'],
    ['e', 'queued'],
  ])
  const lost = lostWork(
    [sent('a', 1), sent('b', 1), sent('c', 2), sent('d', 0), sent('e', 0), sent('f', 1)],
    statuses,
  )
  expect(lost.map((line) => line.split(' ')[1])).toEqual(['b', 'c', 'd', 'e', 'f'])
})

test('figures come by transport: who is there, who is connected, how long commands took', () => {
  const vias = new Map([
    ['a', 'websocket'],
    ['b', 'mqtt'],
    ['c', 'mqtt'],
  ] as const)
  const took = (via: 'websocket' | 'mqtt', tookMs: number) => ({
    id: 'x',
    device: { ...device(1), via },
    tookMs,
  })
  const sent = [took('websocket', 5), took('mqtt', 7), took('mqtt', 9)]
  expect(byTransport(vias, ['a', 'c', 'stranger'], sent)).toEqual({
    websocket: { agents: 1, connected: 1, commands: 1, p50Ms: 5, p99Ms: 5 },
    mqtt: { agents: 2, connected: 1, commands: 2, p50Ms: 7, p99Ms: 9 },
  })
})

test('percentiles are values that occurred', () => {
  const values = Array.from({ length: 100 }, (_, i) => i + 1)
  expect(percentile(values, 0.5)).toBe(50)
  expect(percentile(values, 0.99)).toBe(99)
  expect(percentile([7], 0.99)).toBe(7)
  expect(percentile([], 0.5)).toBe(0)
  expect(percentile([Number.NaN, 3], 0.5)).toBe(3)
})

test('a seed picks the same different items again', () => {
  const items = Array.from({ length: 50 }, (_, i) => i)
  const first = pick(items, 10, randomFrom(7))
  expect(pick(items, 10, randomFrom(7))).toEqual(first)
  expect(new Set(first).size).toBe(10)
  expect(pick(items, 10, randomFrom(8))).not.toEqual(first)
  expect(pick(items, 100, randomFrom(7))).toHaveLength(50)
})
