import { chooseClaims } from '../claims/choose.ts'
import type { Claims } from '../claims/claims.ts'
import { Downlink } from '../downlink.ts'
import type { Exchange } from '../exchange.ts'
import { Life } from '../life.ts'
import { ServerClock } from '../ops/server-clock.ts'
import { Revocations } from '../revocations.ts'
import type { Desk } from '../router/router.ts'
import { effectsOf } from '../session/effects.ts'
import { Keepalive } from '../session/keepalive.ts'
import { Outbound } from '../session/outbound.ts'
import { Releases } from '../session/releases.ts'
import { streams, streamsOrExchange } from '../uplink/carrier.ts'
import { Uplink } from '../uplink/uplink.ts'
import { admissionOf } from './admission.ts'
import { BusWatch } from './bus-watch.ts'
import { descriptorGuardOf } from './descriptors.ts'
import { exchangeOf } from './exchange.ts'
import type { Ground } from './ground.ts'
import { recoveryOf } from './recovery.ts'
import type { Stage } from './stage.ts'

export type Parts = ReturnType<typeof partsOf>

/** A SessionEvent with its Hello, about. */
const eventBytes = 256

/**
 * The layers of a gateway, each with what it needs of the others; parts that need each other reach for what is made later when they
 * need it. None talks to anybody yet, but timers run and the bus is followed: they are the gateway's to close.
 *
 * @param given claims of the host's, which it closes itself
 */
export function partsOf(ground: Ground, stage: Readonly<Stage>, given: Claims | undefined) {
  const { config, bus, limits, counters, registry, without, failed } = ground
  const clock = new ServerClock()
  const nowMs = () => clock.now()
  const claims = given ?? chooseClaims(config.redisUrl, counters)
  const revocations = new Revocations(claims, registry, counters)
  const keepalive = new Keepalive(limits)
  const outbound = new Outbound(limits, counters)
  const life: Life = lifeOf(ground, () => exchange)
  const exchange: Exchange = exchangeOf(ground, {
    clock,
    claims,
    revocations,
    life,
    downlink: () => downlink,
    busAway: () => busWatch.away,
  })
  const carrier = without.has('exchange_up') ? streams(bus) : streamsOrExchange(bus, exchange)
  const uplink = new Uplink({ ...ground, carrier, nowMs })
  const releases = new Releases(claims, limits.claimChunk, failed)
  const downlink = new Downlink({
    ...ground,
    outbound,
    // What is published does not say in which life.
    revoke: (dead) => revocations.carryOut(dead.map((one) => ({ ...one, life: one.life || life.number }))),
    raise: (deviceId, epoch) => void claims.hold([{ deviceId, epoch, node: '' }]).catch(failed),
  })
  const admission = admissionOf(ground, { claims, life, exchange, nowMs })
  const effects = effectsOf({
    ...ground,
    keepalive,
    outbound,
    releases,
    admission,
    moveWithinMs: () => stage.moveWithinMs,
    nowMs,
    announce: ({ deviceId }, epoch, session) => void uplink.push(deviceId, epoch, { session }, eventBytes),
  })
  const desk: Desk = { uplink, outbound, nowMs }
  const descriptors = descriptorGuardOf(ground, stage)
  const recovery = recoveryOf(ground, claims)
  // After whoever else follows the bus.
  const busWatch = new BusWatch(ground, stage, exchange)
  return {
    admission,
    busWatch,
    desk,
    descriptors,
    downlink,
    effects,
    exchange,
    keepalive,
    life,
    /** to be closed with the gateway */
    ownClaims: given ? undefined : claims,
    recovery,
    releases,
    uplink,
  }
}

const lifeOf = ({ registry, log }: Ground, exchange: () => Exchange): Life =>
  new Life({
    residents: registry.residents,
    ask: (deviceId) => exchange().ask(deviceId),
    changed: (life, connections) =>
      log.warn({ life, connections }, 'another life of the database: all connections are asked about anew'),
    failed: (error) => log.warn({ err: error }, 'a restored database could not be asked about connections'),
  })
