import { svc } from '@svc/proto'
import type { Timer } from '../clock.ts'
import type { KeyRing } from '../commands/key-ring.ts'
import { type Offer, prove } from './prove.ts'
import { Telling } from './telling.ts'
import type { MakeUpdater, Updater, UpdaterPorts, Versions } from './updater.ts'

const { UpdatePhase } = svc.v1

/** How long a phase takes at most, in milliseconds; drawn for each. */
const phases = [
  [UpdatePhase.DOWNLOADING, 3_000],
  [UpdatePhase.VERIFYING, 300],
  [UpdatePhase.BACKING_UP, 300],
  [UpdatePhase.SWAPPING, 300],
  [UpdatePhase.RESTARTING, 1_000],
] as const

/**
 * Updates a device that is not real: the offer is proven as on any other, then time passes and the version is the new one. Device and
 * version outlive the agent object; one function per device.
 */
export function simulatedUpdater(version: string, trusted: KeyRing): MakeUpdater {
  const device = { version, sequence: 0 }
  return (ports) => new SimulatedUpdater(device, trusted, ports)
}

interface Device {
  version: string
  /** of the newest release that was believed */
  sequence: number
}

class SimulatedUpdater implements Updater {
  readonly #device: Device
  readonly #trusted: KeyRing
  readonly #ports: UpdaterPorts
  readonly #telling: Telling
  #waiting: Offer | undefined
  #timer: Timer | undefined
  isFresh = false

  constructor(device: Device, trusted: KeyRing, ports: UpdaterPorts) {
    this.#device = device
    this.#trusted = trusted
    this.#ports = ports
    this.#telling = new Telling(ports.say)
  }

  get versions(): Versions {
    return { agent: this.#device.version, helper: '', watchdog: '' }
  }

  connected(): void {
    this.#telling.connected()
  }

  offered(offer: Offer): void {
    this.#waiting = offer
    this.beat()
  }

  beat(): void {
    const offer = this.#waiting
    if (!offer || this.#timer) return
    this.#waiting = undefined
    if (this.#ports.autoUpdate()) this.#take(offer)
  }

  answered(): void {
    this.isFresh = false
    this.#telling.answered()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#waiting = undefined
  }

  #take(offer: Offer): void {
    const { os, arch, serverNow } = this.#ports
    const { version, sequence } = this.#device
    const standing = { os, arch, version, sequence, trusted: this.#trusted, now: serverNow() }
    const proven = prove(offer, standing)
    const to = typeof proven === 'string' ? (offer.version ?? '') : proven.manifest.version
    const tell = (phase: svc.v1.UpdatePhase, reason = '') => {
      const status = { component: offer.component ?? '', fromVersion: version, toVersion: to, phase, reason }
      this.#telling.tell({ ...status, atMs: Math.round(serverNow()) })
    }
    if (typeof proven === 'string') return tell(UpdatePhase.UPDATE_FAILED, proven)
    this.#device.sequence = proven.manifest.sequence
    this.#pass(tell, 0, () => this.#arrive(to, tell))
  }

  /** Phase after phase, each in its time. */
  #pass(tell: (phase: svc.v1.UpdatePhase) => void, at: number, done: () => void): void {
    const [phase, mostMs] = phases[at] ?? []
    if (phase === undefined || mostMs === undefined) {
      this.#timer = undefined
      return done()
    }
    tell(phase)
    const { clock, random } = this.#ports
    this.#timer = clock.after(random() * mostMs, () => this.#pass(tell, at + 1, done))
  }

  #arrive(version: string, tell: (phase: svc.v1.UpdatePhase) => void): void {
    this.#device.version = version
    this.isFresh = true
    this.#ports.renew()
    tell(UpdatePhase.DONE)
  }
}
