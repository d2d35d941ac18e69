import type { Bus, Unsubscribe } from './bus.ts'

/**
 * Calls each time that the bus is back after it was away: what was published meanwhile was not heard here. That it comes up for the
 * first time is no return.
 */
export function onReturn(bus: Pick<Bus, 'up' | 'onState'>, handler: () => void): Unsubscribe {
  let [was, everUp] = [bus.up, bus.up]
  return bus.onState((up) => {
    if (up && !was && everUp) handler()
    was = up
    everUp ||= up
  })
}
