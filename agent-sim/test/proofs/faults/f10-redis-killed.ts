import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api } from '../../system/harness/api.ts'
import { letIn, revoke } from '../upheaval.ts'
import { none, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import type { Scene } from './scene.ts'

const revokedWithinMs = 5_000
/** A heartbeat, and where those come faster than a gateway asks, an exchange and what a busy machine adds. */
const startsWithinMs = 5_000
/** Failures of one address and e-mail (docs/interface, limits); the next one is turned away. */
const loginFailures = 5

/** Redis dies and comes back empty. What `redis-away` proves at length, and that limits hold meanwhile. */
export const redisKilled: Fault = {
  id: 'F10',
  fault: 'Redis killed',
  expected: 'all commands done meanwhile; a revocation acts in 5 s; the login limit holds',
  plant: {
    guard: 'the exchange, by which gateways hand up what they hold',
    variables: { SVC_TEST_WITHOUT: 'exchange_up' },
    noticed: /ended meanwhile/,
  },
  run: async (scene) => {
    const { system, props } = scene
    const retiring = await props.cast.played(`retiring-${randomUUID()}-`, 3)
    await system.redis.kill()
    const died = Date.now()
    const { heartbeatMs, exchangeMs } = props.pace
    const [guesses, revokedMs] = await Promise.all([
      guessPasswords(scene),
      revoke(scene.api, retiring, scene.random),
      // So that something is ripe.
      sleep(Math.max(props.seconds * 1000, heartbeatMs + exchangeMs + 4_000)),
    ])
    const work = await scene.account.meanwhile(
      died,
      { heartbeatMs: Math.max(heartbeatMs, startsWithinMs), exchangeMs },
      [],
    )
    await system.startRedis()
    return [
      ...work,
      within('a revoked device is cut', revokedWithinMs, revokedMs),
      none('revoked devices that are let in again', await letIn(system, retiring)),
      none('guesses at a password beyond the limit that were looked at', guesses),
    ]
  },
}

/** Guesses as often as that is allowed, and three times more; the answers to those that are no refusal, and a complaint when none was heard. */
async function guessPasswords({ system }: Scene): Promise<string[]> {
  const anybody = new Api(system.apiUrl)
  const email = `${randomUUID()}@example.com`
  const statuses: number[] = []
  for (let guess = 0; guess < loginFailures + 3; guess++)
    statuses.push((await anybody.ask('POST', '/auth/login', { email, password: `guess ${guess}` })).status)
  const heard = statuses.slice(0, loginFailures).filter((status) => status !== 401)
  const beyond = statuses.slice(loginFailures).filter((status) => status !== 429)
  return [...heard.map((status) => `one within the limit was answered ${status}`), ...beyond.map(String)]
}
