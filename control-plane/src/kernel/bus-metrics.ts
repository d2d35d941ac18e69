import { type Bus, onReturn, type Unsubscribe } from '@svc/proto/bus'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Shows whether the bus answers, and how often it was away. Returns what ends that. */
export function measureBus(registry: Registry, bus: Bus): Unsubscribe {
  new Gauge({
    name: 'svc_redis_up',
    help: 'Whether Redis answers',
    registers: [registry],
    collect() {
      this.set(Number(bus.up))
    },
  })
  const gaps = new Counter({
    name: 'svc_redis_gaps_total',
    help: 'Times that Redis came back: what was published meanwhile was not heard',
    registers: [registry],
  })
  return onReturn(bus, () => gaps.inc())
}
