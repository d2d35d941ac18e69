import { decodeEnvelope } from '@svc/proto'
import type { Handlers } from './link.ts'

type Frame = Handlers['frame']

/** By the guard that is taken away: what a frame meets instead of the handlers' own. */
const plants: Record<string, (handlers: Handlers) => Frame> = {
  /** Everything was taken before it was. */
  taken_when_accepted: (handlers) => (bytes, taken) => {
    taken?.(true)
    handlers.frame(bytes)
  },
  /** What does not decode is passed over. */
  malformed_close: (handlers) => (bytes, taken) => {
    if (decodes(bytes)) handlers.frame(bytes, taken)
    else taken?.(true)
  },
  /** What does not decode is an error of ours. */
  decode_guard: (handlers) => (bytes, taken) => {
    decodeEnvelope(bytes)
    handlers.frame(bytes, taken)
  },
  /** And one that nobody catches. */
  error_guard: (handlers) => (bytes, taken) => {
    if (!decodes(bytes)) setImmediate(() => decodeEnvelope(bytes))
    handlers.frame(bytes, taken)
  },
}

const decodes = (bytes: Uint8Array): boolean => {
  try {
    decodeEnvelope(bytes)
    return true
  } catch {
    return false
  }
}

/** The handlers; for a proof that is to see itself fail, with something wrong in front of them. @param without guards that it takes away */
export function plantedIn(handlers: Handlers, without: ReadonlySet<string>): Handlers {
  if (without.size === 0) return handlers
  const plant = Object.entries(plants).find(([guard]) => without.has(guard))?.[1]
  if (!plant) return handlers
  return {
    frame: plant(handlers),
    room: () => handlers.room(),
    gone: (reason) => handlers.gone(reason),
  }
}
