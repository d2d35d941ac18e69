import { closeReasons } from '@svc/proto'
import { expect, test } from 'vitest'
import { Counters, count } from '../src/ops/counters.ts'
import { Meters } from '../src/ops/metrics.ts'

/** A gateway that has so many devices, each of which was turned away and cut for every reason that there is. */
async function seriesFor(
  devices: number,
  reasonOf: (reason: string, device: number) => string = (one) => one,
) {
  const counters = new Counters()
  const reasons = Object.keys(closeReasons) as (keyof typeof closeReasons)[]
  for (let device = 0; device < devices; device++)
    for (const reason of reasons) {
      count(counters.refused, reasonOf(reason, device) as never)
      count(counters.closed, reason)
      count(counters.rejected, '503')
      count(counters.dropped, 'backpressure')
    }
  const meters = new Meters(counters, () => ({
    newcomers: 0,
    residents: devices,
    via: () => ({ websocket: devices, mqtt: devices }),
    backlog: () => ({ sessions: devices, bytes: devices }),
    uplink: { items: devices, bytes: devices, lagMs: 0 },
    busUp: true,
    exchangeUp: true,
    exchangeAgeMs: 0,
    descriptors: undefined,
    certificateExpires: undefined,
  }))
  const metrics = await meters.read()
  await meters.close()
  return metrics.reduce((sum, { values }) => sum + values.length, 0)
}

test('5,000 devices and every reason to end a connection: no more series than for one, below 150 for a worker', async () => {
  const [one, many] = [await seriesFor(1), await seriesFor(5_000)]
  expect(many).toBe(one)
  expect(many).toBeLessThan(150)
})

test('a label that holds who it was would be found out', async () => {
  const named = await seriesFor(500, (_reason, device) => `BACKPRESSURE_${device}`)
  expect(named).toBeGreaterThan((await seriesFor(1)) + 400)
})
