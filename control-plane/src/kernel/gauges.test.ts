import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { askedGauges, gaugePatienceMs } from './gauges.ts'

const registered = (answers: (() => Promise<{ a: number; b: number }>)[]) => {
  const registry = new Registry()
  const failures: unknown[] = []
  let asked = 0
  askedGauges(registry, {
    gauges: { a: 'A.', b: 'B.' },
    ask: async () => answers[asked++]?.(),
    failed: (error) => failures.push(error),
  })
  const scrape = async () =>
    (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'))
  return { scrape, failures, asked: () => asked }
}

test('all gauges of a scrape are of one answer, and of this scrape', async () => {
  const { scrape, asked } = registered([async () => ({ a: 1, b: 2 }), async () => ({ a: 3, b: 4 })])
  expect(await scrape()).toEqual(['a 1', 'b 2'])
  expect(await scrape()).toEqual(['a 3', 'b 4'])
  expect(asked()).toBe(2)
})

test('a failure is no number, and told', async () => {
  const { scrape, failures } = registered([
    async () => {
      throw new Error('away')
    },
  ])
  expect(await scrape()).toEqual(['a Nan', 'b Nan'])
  expect(failures).toEqual([new Error('away')])
})

test('silence is no number, ends in time, and is neither asked nor told twice', async () => {
  let say: (answer: { a: number; b: number }) => void = () => undefined
  const silence = new Promise<{ a: number; b: number }>((resolve) => (say = resolve))
  const { scrape, failures, asked } = registered([() => silence, async () => ({ a: 5, b: 6 })])
  const before = performance.now()
  expect(await scrape()).toEqual(['a Nan', 'b Nan'])
  expect(performance.now() - before).toBeLessThan(gaugePatienceMs + 1_000)
  await scrape()
  expect([asked(), failures.length]).toEqual([1, 1])
  say({ a: 3, b: 4 })
  await sleep(1)
  expect(await scrape()).toEqual(['a 5', 'b 6'])
})
