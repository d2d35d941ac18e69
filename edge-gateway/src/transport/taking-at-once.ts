import type { Handlers } from './link.ts'

/** Says of everything that it was taken before it was: what a proof puts in the place of the handlers, to see itself fail. */
export const takingAtOnce = (handlers: Handlers): Handlers => ({
  frame: (bytes, taken) => {
    taken?.(true)
    handlers.frame(bytes)
  },
  room: () => handlers.room(),
  gone: (reason) => handlers.gone(reason),
})
