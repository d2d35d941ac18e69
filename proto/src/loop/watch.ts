import { Worker } from 'node:worker_threads'
import { beatMs, blockedFromMs, loopCounts, toldFromMs } from './counts.ts'
import { type Seen, sentry, type SentryOrders } from './sentry.ts'
import { Stillness } from './stillness.ts'

/** What it needs of a logger: pino's. */
export interface LoopLog {
  warn(details: object, message: string): void
  bindings(): Record<string, unknown>
  isLevelEnabled(level: string): boolean
}

/** What the sentry found out in that time is there by then. */
const stackWithinMs = 200

let still: Stillness | undefined

/** Whether the event loop stood still for so long that nothing more should be sent here for now. */
export const isLoopBlocked = (): boolean => still?.blocked(performance.now()) ?? false

/**
 * Watches this process's event loop until it ends: counts in {@link loopCounts}, and in the log, with what the loop was busy with where
 * V8 can say so. To be called once, by a program: what is hosted by another has that one's event loop.
 */
export function watchLoop(log: LoopLog): void {
  const stillness = new Stillness(performance.now())
  still = stillness
  const beats = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const beat = new Int32Array(beats)
  let stack: string[] | undefined
  const tell = (blockedMs: number) => {
    log.warn(
      { event: 'process.blocked', blockedMs: Math.round(blockedMs), stack },
      'the event loop stood still',
    )
    stack = undefined
  }
  setInterval(() => {
    const ms = stillness.beat(performance.now())
    Atomics.add(beat, 0, 1)
    if (ms === undefined) return
    loopCounts.blocks++
    loopCounts.blockedMs += ms
    setTimeout(tell, stackWithinMs, ms).unref()
  }, beatMs).unref()
  station({ beats, toldFromMs, blockedFromMs, line: lineOf(log) }, (seen) => {
    stack = seen.stack
  }).on('error', (error) => log.warn({ err: error }, 'nobody looks any more what keeps the event loop'))
}

/** Where errors are not written, neither is this. */
const lineOf = (log: LoopLog) => (log.isLevelEnabled('error') ? log.bindings() : undefined)

/** It ends with the process, and keeps it from nothing. */
function station(orders: SentryOrders, seen: (seen: Seen) => void): Worker {
  const thread = new Worker(sentry, {
    eval: true,
    workerData: orders,
    name: 'event loop',
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
  })
  thread.on('message', seen)
  thread.unref()
  return thread
}
