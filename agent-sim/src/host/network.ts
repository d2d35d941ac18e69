import { networkInterfaces } from 'node:os'

/** An agent is back 5 s after a change: this, the question on the connection, and the way back. */
const lookEveryMs = 1_000
/** So much later than it was due a look tells of a machine that slept, or stood still: what it was connected to may be gone. */
const sleptMs = 5_000

type Interfaces = typeof networkInterfaces

const addressesOf = (interfaces: Interfaces): string =>
  Object.values(interfaces())
    .flatMap((list) => (list ?? []).filter(({ internal }) => !internal).map(({ cidr }) => cidr ?? ''))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join()

/**
 * Calls `changed` when this machine gets or loses an address, and when it wakes: then the wall clock has gone on while timers stood
 * still. A clock that is put forward looks the same, and costs one question on the connection. The answer ends it.
 */
export function watchNetwork(changed: () => void, interfaces: Interfaces = networkInterfaces): () => void {
  let [last, lookedAt] = [addressesOf(interfaces), Date.now()]
  const timer = setInterval(() => {
    const [now, at] = [addressesOf(interfaces), Date.now()]
    const slept = at - lookedAt > lookEveryMs + sleptMs
    if (now !== last || slept) changed()
    ;[last, lookedAt] = [now, at]
  }, lookEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}
