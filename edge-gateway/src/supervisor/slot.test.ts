import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Metrics } from '../ops/metrics.ts'
import type { ToWorker } from './messages.ts'
import { type End, Slot } from './slot.ts'

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(Math, 'random').mockReturnValue(1)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** The supervisor's end of a worker that does as the test says. */
class Played extends EventEmitter {
  readonly told: ToWorker[] = []
  readonly signals: string[] = []
  readonly process = { pid: 1, kill: (signal: string) => this.signals.push(signal) }
  dead = false
  isDead = () => this.dead
  send = (message: ToWorker) => this.told.push(message)
  listens = () => this.emit('message', { kind: 'listening' })
  ends = (code: number | null, signal: string | null = null) => this.emit('exit', code, signal)
}

const played = (more: { replaces?: boolean; fork?: () => Worker } = {}) => {
  const workers: Played[] = []
  const ends: End[] = []
  const pauses: number[] = []
  const slot = new Slot(1, {
    fork:
      more.fork ??
      (() => {
        const worker = new Played()
        workers.push(worker)
        return worker as unknown as Worker
      }),
    serving: () => {},
    ended: (end, replace) => {
      ends.push(end)
      if (more.replaces ?? true) pauses.push(replace())
    },
    startWithinMs: 60_000,
  })
  slot.start()
  const latest = () => workers.at(-1) ?? new Played()
  return { slot, workers, latest, ends, pauses }
}

it('replaces whoever ends, later each time, and soon again after a minute of service', () => {
  const { workers, latest, pauses } = played()
  for (let n = 0; n < 9; n++) {
    latest().listens()
    vi.advanceTimersByTime(59_000)
    latest().ends(1)
    vi.advanceTimersByTime(pauses.at(-1) ?? 0)
  }
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  latest().listens()
  vi.advanceTimersByTime(60_000)
  latest().ends(null, 'SIGKILL')
  expect(pauses.at(-1)).toBe(250)
  expect(workers).toHaveLength(10)
})

it('says how a worker ended, and whether it had accepted anybody', () => {
  const { slot, latest, ends, pauses } = played()
  latest().ends(78)
  vi.advanceTimersByTime(pauses[0] ?? 0)
  latest().listens()
  expect(slot.isServing).toBe(true)
  latest().ends(null, 'SIGSEGV')
  expect(slot.isServing).toBe(false)
  expect(ends).toEqual([
    { reason: 'code_78', code: 78, served: false },
    { reason: 'sigsegv', code: undefined, served: true },
  ])
})

it('gives up a worker that hangs at its start, and takes its end only once', () => {
  const { latest, ends, workers } = played()
  const [hanging] = workers
  vi.advanceTimersByTime(60_000)
  expect(hanging?.signals).toEqual(['SIGKILL'])
  hanging?.ends(null, 'SIGKILL')
  vi.advanceTimersByTime(250)
  latest().listens()
  vi.advanceTimersByTime(60_000)
  expect(ends.map(({ reason }) => reason)).toEqual(['start_timeout'])
})

it.each([
  [
    'at once',
    () =>
      played({
        fork: () => {
          throw new Error('ENOMEM')
        },
      }),
  ],
  [
    'later',
    () => {
      const it = played()
      it.latest().dead = true
      it.latest().emit('error', new Error('EAGAIN'))
      return it
    },
  ],
])('a process that the system does not give, as it says %s, is an end', (_when, make) => {
  expect(make().ends).toEqual([{ reason: 'not_started', code: undefined, served: false }])
})

it('asks a worker one thing at a time, and waits no longer than it should', async () => {
  const { slot, latest } = played()
  expect(await slot.metrics(100)).toBeUndefined()
  latest().listens()
  const [first, second] = [slot.metrics(100), slot.metrics(100)]
  await vi.advanceTimersByTimeAsync(100)
  expect([await first, await second]).toEqual([undefined, undefined])
  const third = slot.metrics(100)
  const metrics: Metrics = []
  latest().emit('message', { kind: 'metrics', metrics })
  expect(await third).toBe(metrics)
  expect(latest().told).toEqual([{ kind: 'metrics' }])
  const fourth = slot.metrics(100)
  latest().ends(1)
  expect(await fourth).toBeUndefined()
})

it('drains whoever is there, and nobody follows', async () => {
  const { slot, latest, workers } = played({ replaces: false })
  const drained = slot.drain()
  expect(latest().told).toEqual([{ kind: 'drain' }])
  latest().ends(0)
  await drained
  const pausing = played()
  pausing.latest().ends(1)
  await pausing.slot.drain()
  vi.advanceTimersByTime(60_000)
  expect([workers, pausing.workers].map(({ length }) => length)).toEqual([1, 1])
})
