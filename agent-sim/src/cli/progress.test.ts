import { expect, it } from 'vitest'
import { Histogram } from '../fleet/histogram.ts'
import { FleetTally } from '../fleet/stats.ts'
import { type Moment, progressLine, trend } from './progress.ts'
import { Recent } from './recent.ts'
import { summary } from './report.ts'

const ms = (...values: number[]) => {
  const histogram = new Histogram()
  for (const value of values) histogram.add(value)
  return histogram.percentiles()
}

function moment(): Moment {
  const tally = new FleetTally(['websocket', 'websocket', 'mqtt'])
  tally.take('websocket', { kind: 'connected', tookMs: 4, epoch: 1 })
  tally.take('mqtt', { kind: 'connected', tookMs: 8, epoch: 1 })
  tally.take('mqtt', { kind: 'trouble', text: 'no' })
  tally.take('mqtt', { kind: 'command', id: 'a', type: 'run_script', traceId: '', duplicate: false })
  tally.struck('crash')
  return { stats: tally.stats(['websocket', 'mqtt'], 1), beats: [0, 5, 10], heartbeatMs: ms(2) }
}

it('a trend is as high as its largest value', () => {
  expect(trend([0, 1, 3.5, 7])).toBe('▁▂▅█')
  expect(trend([0, 0])).toBe('▁▁')
  expect(trend([])).toBe('')
})

it('a line says who is connected by which transport, what is going on, and what goes wrong', () => {
  expect(progressLine(moment())).toBe(
    'connected 2/3 (websocket 1, mqtt 1) · heartbeats 10/s ▁▅█ · commands 1 · errors 1' +
      ' · answers p50 2, p99 2 ms · away 1 · connect p50 4.1, p99 8 ms',
  )
})

it('a line stays within the terminal, and who is connected always stands', () => {
  for (const columns of [40, 60, 80, 100, 140, 200])
    expect(progressLine(moment(), columns).length).toBeLessThan(columns)
  expect(progressLine(moment(), 10)).toBe('connected 2/3 (websocket 1, mqtt 1)')
})

it('recent durations forget the oldest turn', () => {
  const recent = new Recent(2)
  recent.add(100)
  recent.turn()
  recent.add(1)
  expect(recent.percentiles()).toMatchObject({ count: 2, max: 100 })
  recent.turn()
  expect(recent.percentiles()).toMatchObject({ count: 1, max: 1 })
})

it('a summary tells transports apart, and of churn where there was any', () => {
  const text = summary(moment().stats)
  expect(text).toMatch(/^websocket +2 +1 +1 +0 +0 +0 +0 +0 +0$/m)
  expect(text).toMatch(/^mqtt +1 +1 +1 +0 +0 +1 +1 +0 +0$/m)
  expect(text).toContain('churn: leave 0, crash 1, network 0; away 1')
  expect(summary(new FleetTally(['mqtt']).stats([], 0))).not.toContain('churn')
})
