import { networkInterfaces } from 'node:os'

const lookEveryMs = 5_000

const addresses = (): string =>
  Object.values(networkInterfaces())
    .flatMap((list) => (list ?? []).filter(({ internal }) => !internal).map(({ cidr }) => cidr ?? ''))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join()

/** Calls `changed` when this machine gets or loses an address. The answer ends it. */
export function watchNetwork(changed: () => void): () => void {
  let last = addresses()
  const timer = setInterval(() => {
    const now = addresses()
    if (now !== last) changed()
    last = now
  }, lookEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}
