import { setTimeout as sleep } from 'node:timers/promises'
import { pick } from '../random.ts'
import { type Device, partings } from './device.ts'
import type { Gateways } from './gateways.ts'

/** Events of one device in one round. */
const [fewest, most] = [3, 8]
/** Between two of them; half of the time none at all. */
const restMs = 900
/** Who asked a gateway that does not answer goes elsewhere after this, as agents do after longer. */
const patienceMs = 250

/** One random sequence of events of one device; returns when the last one has happened, not when it was heard of. */
export async function playDevice(device: Device, gateways: Gateways, random: () => number): Promise<void> {
  const events = fewest + Math.floor(random() * (most - fewest + 1))
  for (let event = 0; event < events; event++) {
    if (random() < 0.5) await sleep(random() * restMs)
    await step(device, gateways, random)
  }
}

async function step(device: Device, gateways: Gateways, random: () => number): Promise<void> {
  const { open, connections } = device.model
  const connect = () => device.connect(Math.floor(random() * gateways.count))
  // What comes late is what goes wrong: a gateway that stalls hears of this only when it wakes.
  const late = open.filter((number) => gateways.isPaused(connections[number]?.life ?? -1))
  const isLate = late.length > 0 && random() < 0.6
  const kind = random()
  if (open.length === 0 || (kind < 0.5 && !isLate)) return sooner(connect())
  // Two at once, of whom neither knows of the other.
  if (kind < 0.6 && !isLate) return sooner(Promise.all([connect(), connect()]))
  const one = pick(isLate ? late : open, random)
  if (random() < 0.3) return device.beat(one)
  // Ended and at once there again: how most agents come back.
  device.part(one, pick(partings, random))
  if (random() < 0.5) return sooner(connect())
}

const sooner = async (asked: Promise<unknown>): Promise<void> => {
  await Promise.race([asked, sleep(patienceMs)])
}

export interface Weather {
  /** whether gateways die, too */
  deaths: boolean
  /** each pause is shorter */
  pauseMs: number
}

const calmMs = 200
const deathsOfBlows = 0.15
/** So many gateways at most are away at a time: somebody is always there. */
const atOnce = 2

/**
 * Gateways are paused and die at random until `over`; each kind at least once. Returns when all are there again.
 */
export async function disturb(
  gateways: Gateways,
  { deaths, pauseMs }: Weather,
  random: () => number,
  over: Promise<unknown>,
): Promise<void> {
  let isOver = false
  void over.then(() => (isOver = true))
  const struck = new Set<number>()
  const blows = async (first: 'pause' | 'death') => {
    for (let blow = 0; !isOver || blow < 1; blow++) {
      await sleep(random() * calmMs)
      const free = Array.from({ length: gateways.count }, (_, at) => at).filter((at) => !struck.has(at))
      const index = pick(free, random)
      const dies = deaths && (blow === 0 ? first === 'death' : random() < deathsOfBlows)
      struck.add(index)
      await (dies ? gateways.die(index) : gateways.pause(index, (0.2 + 0.8 * random()) * pauseMs))
      struck.delete(index)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, (_, at) => blows(at === 0 ? 'death' : 'pause')))
}
