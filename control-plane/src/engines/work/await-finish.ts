import { type Bus, names } from '@svc/proto/bus'
import type { Db } from '../../kernel/tenancy.ts'
import { type Command } from './command.ts'
import { findCommand } from './find.ts'
import { readHint } from './hints.ts'
import { isFinal } from './states.ts'

type Waiters = Map<string, Set<() => void>>

/** One subscription per bus, however many callers wait. */
const subscribed = new WeakMap<Bus, Promise<Waiters>>()

function waitersOf(bus: Bus): Promise<Waiters> {
  const known = subscribed.get(bus)
  if (known) return known
  const waiters: Waiters = new Map()
  const ready = bus
    .subscribe(names.apiAll(), (payload) => {
      for (const id of readHint(payload).finishedCommands) for (const wake of waiters.get(id) ?? []) wake()
    })
    .then(() => waiters)
  subscribed.set(bus, ready)
  return ready
}

/** What waiting needs of the ports. */
export interface WaitPorts {
  bus: Bus
  config: { pipeline: { rereadMs: number } }
}

/**
 * The command once it has ended, or as it stands after `waitMs`. A hint makes it fast; looking again every `rereadMs` makes it
 * sure. Call outside any transaction. Ends early once `gone` is aborted. Undefined when it is not to be seen.
 *
 * @param view the caller's own view of the database, as it is by then; what it throws ends the wait
 */
export async function awaitFinish(
  ports: WaitPorts,
  view: () => Promise<Db>,
  command: { deviceId: string; id: string },
  waitMs: number,
  gone?: AbortSignal,
): Promise<Command | undefined> {
  const until = performance.now() + waitMs
  const waiters = await waitersOf(ports.bus)
  for (;;) {
    const woken = register(waiters, command.id) // before reading: nothing that ends in between is missed
    const found = await view()
      .then((db) => findCommand(db, command.deviceId, command.id))
      .catch((error: unknown) => {
        woken.cancel()
        throw error
      })
    const left = until - performance.now()
    if (!found || isFinal(found.status) || left <= 0 || gone?.aborted) {
      woken.cancel()
      return found
    }
    await woken.within(Math.min(left, ports.config.pipeline.rereadMs))
  }
}

function register(waiters: Waiters, id: string) {
  const { promise, resolve } = promiseWithResolver()
  const own = waiters.get(id) ?? new Set()
  waiters.set(id, own.add(resolve))
  const cancel = () => {
    own.delete(resolve)
    if (own.size === 0 && waiters.get(id) === own) waiters.delete(id)
  }
  const within = async (ms: number) => {
    const timer = setTimeout(resolve, ms)
    await promise
    clearTimeout(timer)
    cancel()
  }
  return { within, cancel }
}

function promiseWithResolver() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
