import { describe, expect, it } from 'vitest'
import { Latencies, openLoop } from './latency.ts'

describe('latencies', () => {
  it('are read by percentile, within a thousandth', () => {
    const latencies = new Latencies()
    for (let ms = 1; ms <= 1_000; ms++) latencies.saw(ms)
    const read = latencies.read('answer ')
    const wanted = { 'answer p50': 500, 'answer p99': 990, 'answer p99.9': 999, 'answer max': 1_000 }
    expect(Object.keys(read)).toEqual(Object.keys(wanted))
    for (const [name, ms] of Object.entries(wanted))
      expect(Math.abs((read[name] ?? 0) / ms - 1)).toBeLessThan(0.0015)
  })

  it('tell microseconds apart, and are none where nothing was seen', () => {
    const latencies = new Latencies()
    expect(() => latencies.read()).toThrow('nothing was seen')
    latencies.saw(0.004)
    latencies.saw(0)
    expect(latencies.read()['max']).toBe(0.004)
    expect(latencies.count).toBe(2)
  })
})

describe('an open loop', () => {
  it('begins each at its time, in order', async () => {
    const intended: number[] = []
    await openLoop({ perSecond: 1_000, count: 20, begin: (_, at) => intended.push(at) })
    const gaps = intended.slice(1).map((at, i) => at - (intended[i] ?? 0))
    expect(gaps).toHaveLength(19)
    for (const gap of gaps) expect(gap).toBeCloseTo(1)
  })

  it('counts from when one should have begun, when whoever came before held it up', async () => {
    const late: number[] = []
    const holdUp = () => {
      for (const end = performance.now() + 50; performance.now() < end; );
    }
    await openLoop({
      perSecond: 1_000,
      count: 10,
      begin: (index, at) => {
        late.push(performance.now() - at)
        if (index === 0) holdUp()
      },
    })
    // The second was due after one millisecond and began after fifty.
    expect(late[1]).toBeGreaterThan(40)
  })
})
