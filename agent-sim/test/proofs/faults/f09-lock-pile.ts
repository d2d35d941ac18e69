import { setTimeout as sleep } from 'node:timers/promises'
import { none, type Row, within } from '../verdict.ts'
import { call, keepCalling, slowest, unclear } from './caller.ts'
import type { Fault } from './fault.ts'

/** Callers of each kind: together more than the API has connections. */
const callers = 8
const leastMs = 6_000
/** Longer than any answer may take. */
const plantedMs = 18_000
/** Two seconds for a lock, two for a connection, and room for a busy machine. */
const lockedWithinMs = 12_000
/** Three, and room for a busy machine. */
const othersWithinMs = 9_000
const wellWithinMs = 10_000

/** Somebody locks the table of devices, and goes to lunch. */
export const lockPile: Fault = {
  id: 'F9',
  fault: 'lock pile: devices are locked',
  expected: 'what needs them is 503 in time, what does not is answered; no pool dies',
  plant: {
    guard: 'the time limits that Postgres is told of',
    variables: { SVC_TEST_WITHOUT: 'lock_timeout' },
    noticed: /about devices is answered/,
  },
  run: async ({ system, api, props, planted }) => {
    const holder = await system.sql.reserve()
    await holder`begin`
    await holder`lock table devices in access exclusive mode`
    const locked = keepCalling(api, ['GET', '/devices?limit=1'], { callers })
    const others = keepCalling(api, ['GET', '/orgs/organizations'], { callers })
    const users = keepCalling(api, ['GET', '/users/me'])
    try {
      await sleep(planted ? plantedMs : Math.max(leastMs, props.seconds * 500))
    } finally {
      await holder`rollback`
      holder.release()
    }
    const over = Date.now()
    await Promise.all([locked.end(), others.end(), users.end()])
    while ((await call(api, ['GET', '/devices?limit=1'])).status !== 200 && Date.now() - over < 60_000)
      await sleep(100)
    const wellMs = Date.now() - over
    const pool = await Promise.all(
      Array.from({ length: 4 * callers }, () => call(api, ['GET', '/devices?limit=1'])),
    )
    const rest = [...others.told, ...users.told]
    return [
      none(
        `answers about devices but success and 503, of ${locked.told.length}`,
        unclear(locked.told, [200]),
      ),
      slowest('p99 of the time until a request about devices is answered', lockedWithinMs, locked.told),
      none(`answers to others but success and 503, of ${rest.length}`, unclear(rest, [200])),
      served(rest.filter(({ status }) => status === 200).length),
      slowest('p99 of the time until they are answered', othersWithinMs, rest),
      within('all is well once it is over', wellWithinMs, [wellMs]),
      none(
        'requests then, more than there are connections, that fail',
        pool.filter(({ status }) => status !== 200).map(({ status }) => String(status)),
      ),
    ]
  },
}

const served = (count: number): Row => ({
  what: 'others that were served meanwhile',
  expected: 'some',
  seen: String(count),
  pass: count > 0,
})
