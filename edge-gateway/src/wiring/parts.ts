import { chooseClaims } from '../claims/choose.ts'
import type { Claims } from '../claims/claims.ts'
import { Downlink } from '../downlink.ts'
import type { Exchange } from '../exchange.ts'
import { Life } from '../life.ts'
import { ServerClock, steadyHost } from '../ops/server-clock.ts'
import { type CarryOut, Revocations } from '../revocations.ts'
import type { Desk } from '../router/router.ts'
import { effectsOf } from '../session/effects.ts'
import { Keepalive } from '../session/keepalive.ts'
import { Knocks } from '../session/knocks.ts'
import { Outbound } from '../session/outbound.ts'
import { Overtaken } from '../session/overtaken.ts'
import { Releases } from '../session/releases.ts'
import { Trail } from '../session/trail.ts'
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
  const { config, bus, limits, counters, without, failed } = ground
  const clock = new ServerClock(without.has('shared_time') ? Date.now : steadyHost)
  const nowMs = () => clock.now()
  const claims = given ?? chooseClaims(config.redisUrl, counters)
  const revocations = new Revocations(claims, ground, nowMs)
  const carryOut: CarryOut = async (dead) => {
    if (!without.has('revocations')) await revocations.carryOut(dead)
  }
  const keepalive = new Keepalive(limits)
  const knocks = new Knocks(limits)
  const outbound = new Outbound(limits, counters)
  const life: Life = lifeOf(ground, () => exchange)
  const exchange: Exchange = exchangeOf(ground, {
    clock,
    claims,
    carryOut,
    life,
    downlink: () => downlink,
    busAway: () => busWatch.away,
  })
  const carrier = without.has('exchange_up') ? streams(bus) : streamsOrExchange(bus, exchange)
  const uplink = new Uplink({ ...ground, carrier, nowMs })
  const releases = new Releases(claims, limits.claimChunk, failed)
  const trail = new Trail(ground)
  const overtaken = new Overtaken()
  const downlink = new Downlink({
    ...ground,
    outbound,
    trail,
    overtaken,
    evicts: !without.has('evictions'),
    // What is published does not say in which life.
    revoke: (dead) => carryOut(dead.map((one) => ({ ...one, life: one.life || life.number }))),
    raise: (deviceId, epoch) => void claims.hold([{ deviceId, epoch, node: '' }]).catch(failed),
  })
  const admission = admissionOf(ground, { claims, life, exchange, overtaken, nowMs })
  const effects = effectsOf({
    ...ground,
    keepalive,
    knocks,
    outbound,
    releases,
    admission,
    moveWithinMs: () => stage.moveWithinMs,
    nowMs,
    announce: ({ deviceId }, epoch, session) => void uplink.push(deviceId, epoch, { session }, eventBytes),
  })
  const desk: Desk = { uplink, outbound, trail, nowMs }
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
    knocks,
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
    ask: async (deviceId) => void (await exchange().ask({ deviceId })),
    changed: (life, connections) =>
      log.warn({ life, connections }, 'another life of the database: all connections are asked about anew'),
    failed: (error) => log.warn({ err: error }, 'a restored database could not be asked about connections'),
  })
