import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../system/harness/until.ts'
import { all, percentile, type Row, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice, type Held, say } from './hand-device.ts'
import { HeavyFrames } from './heavy-frames.ts'
import { Link } from './link.ts'
import { residentBytes } from './memory.ts'
import type { Scene } from './scene.ts'

const slowDevices = 20
const slowBytesPerSecond = 1_000
/** What a gateway may come to hold of one, beside what the kernel does. */
const mostBytesEach = 2 * 1024 * 1024
/** Frames for each of them that reads, in which a gateway that has all the memory that it works with takes no more. */
const warmUpRounds = 10
const mostWarmUps = 20
const takesMoreBytes = 1024 * 1024
const cutWithinMs = 60_000
const plantedPatienceRounds = 60
const answeredWithinMs = 2_000
const everyMs = 20
const struck = 0

/** Devices that read a thousand bytes a second, for which there is far more. */
export const slowDevicesCut: Fault = {
  id: 'F12',
  fault: 'slow devices',
  expected: 'each is cut; < 2 MiB held for one; others are answered; what it had not read is given again',
  plant: {
    guard: 'the bound of what is held for one device',
    variables: { SVC_TEST_LIMITS: 'maxBacklogBytes=1073741824,maxBacklogFrames=1000000' },
    noticed: /memory|are cut/,
  },
  run: async (scene) => {
    const { system } = scene
    const wire = await Link.to(system.mqttUrls[struck] ?? '')
    scene.later(() => wire.close())
    const frames = new HeavyFrames(system.redis.url, system.nodeOf(struck))
    scene.later(() => frames.close())
    const neighbour = await HandDevice.enroll(scene, 'neighbour')
    const beside = await neighbour.connect(struck)
    const devices = await Promise.all(
      Array.from({ length: slowDevices }, (_, n) => HandDevice.enroll(scene, `slow${n}`)),
    )
    const held = await Promise.all(devices.map((device) => device.connect(struck, { by: wire.url })))
    await Promise.all(devices.map((device) => device.known()))
    const flood = new Flood(scene, frames, beside)
    const ids = devices.map(({ id }) => id)
    const before = await flood.warmUp(ids)
    wire.bytesPerSecond = slowBytesPerSecond
    await flood.round(ids)
    // Behind what takes minutes to read: none of them gets it on this connection.
    const orders = await Promise.all(devices.map((device) => device.order()))
    const cut = await flood.untilCut(devices, held)
    const seenSlow = held.flatMap(({ given }) => given)
    wire.bytesPerSecond = undefined
    wire.cut()
    const again = await Promise.all(devices.map((device) => device.connect(struck)))
    const given = () => orders.filter((id, n) => again[n]?.given.includes(id)).length
    await until('all are given again', () => given() === orders.length, 30_000).catch(() => undefined)
    return [
      all('devices that are cut', slowDevices, cut.count),
      within('until the last one is', cutWithinMs, [cut.tookMs]),
      memory(flood.mostBytes - before),
      within('99 % of the heartbeats of their neighbour are answered', answeredWithinMs, [
        percentile(flood.answeredMs, 0.99),
      ]),
      all('commands that wait for who does not read', orders.length, orders.length - seenSlow.length),
      all('commands that are given to who reads again', orders.length, given()),
    ]
  },
}

/** What is said to slow devices, and how the gateway bears it. */
class Flood {
  /** resident in the gateway, at most, since devices are slow */
  mostBytes = 0
  /** how long each heartbeat of the neighbour took */
  readonly answeredMs: number[] = []
  readonly #scene: Scene
  readonly #frames: HeavyFrames
  readonly #neighbour: Held

  constructor(scene: Scene, frames: HeavyFrames, neighbour: Held) {
    this.#scene = scene
    this.#frames = frames
    this.#neighbour = neighbour
  }

  /** A frame for each of them; no more are sent before the gateway has answered somebody else. */
  async round(deviceIds: readonly string[]): Promise<void> {
    await this.#frames.send(deviceIds)
    const began = performance.now()
    const answered = await say(this.#neighbour.hand, { heartbeat: {} })
    this.answeredMs.push(answered ? performance.now() - began : Number.POSITIVE_INFINITY)
    await sleep(everyMs)
  }

  /** Resident memory of the gateway, once it is that with which it hands such frames to devices that read. */
  async warmUp(deviceIds: readonly string[]): Promise<number> {
    const { pid } = this.#scene.system.gateway(struck)
    let most = await residentBytes(pid)
    for (let n = 0; n < mostWarmUps; n++) {
      for (let round = 0; round < warmUpRounds; round++) await this.round(deviceIds)
      const bytes = await residentBytes(pid)
      if (n > 0 && bytes <= most + takesMoreBytes) return bytes
      most = Math.max(most, bytes)
    }
    return most
  }

  /** Goes on until the last of them has lost its claim on the gateway, or patience is at an end. */
  async untilCut(devices: readonly HandDevice[], held: readonly Held[]) {
    const began = performance.now()
    const gone = new Set<HandDevice>()
    for (const [n, device] of devices.entries()) void held[n]?.hand.closed.then(() => gone.add(device))
    const isLate = () => performance.now() - began > cutWithinMs
    for (let rounds = 0; gone.size < devices.length && !isLate(); rounds++) {
      await this.round(devices.filter((device) => !gone.has(device)).map(({ id }) => id))
      const bytes = await residentBytes(this.#scene.system.gateway(struck).pid)
      this.mostBytes = Math.max(this.mostBytes, bytes)
      if (this.#scene.planted && rounds > plantedPatienceRounds) break
    }
    return { count: gone.size, tookMs: performance.now() - began }
  }
}

const memory = (grownBytes: number): Row => {
  const each = grownBytes / slowDevices
  return {
    what: `memory that the gateway comes to hold for each of ${slowDevices}`,
    expected: '≤ 2048 KiB',
    seen: `${Math.round(each / 1024)} KiB`,
    pass: each <= mostBytesEach,
  }
}
