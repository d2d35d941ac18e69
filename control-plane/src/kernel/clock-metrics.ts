import { Gauge, type Registry } from 'prom-client'

/** By how much the host's clock is off from the time that all servers share. @returns what is told of each look, in milliseconds */
export function measureClock(registry: Registry): (byMs: number) => void {
  const gauge = new Gauge({
    name: 'svc_host_clock_ahead_seconds',
    help: 'By how much the clock of this host is ahead of that of the database; negative: behind',
    registers: [registry],
  })
  return (byMs) => gauge.set(byMs / 1000)
}
