import { svc } from '@svc/proto'
import type { Session } from './session/session.ts'

const { Standing } = svc.v1

export interface LifeDeps {
  residents: ReadonlyMap<string, Session>
  /** Has the control plane say what it knows of a device; rejects when it does not answer. */
  ask: (deviceId: string) => Promise<void>
  /** Told that all residents are asked about. */
  changed: (life: number, residents: number) => void
  failed: (error: unknown) => void
}

/** Who is asked about in one go, and when those are asked about again of whom nothing was heard. */
const atOnce = 500
const againMs = 1_000

/**
 * Which life of the database the control plane speaks for. When that changes, what was said of devices before counts no more: everybody
 * who is connected is asked about anew, stays as the one that the database knows now, or goes.
 */
export class Life {
  readonly #deps: LifeDeps
  readonly #open = new Map<string, Session>()
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** 0: not known yet */
  number = 0

  constructor(deps: LifeDeps) {
    this.#deps = deps
  }

  /** The control plane said in which life it speaks. A word that comes late from an earlier one is none. */
  heard(life: number): void {
    if (life <= this.number) return
    const { residents, changed } = this.#deps
    // Who is connected before anything was heard was let in by what was remembered, perhaps of an earlier one.
    this.number = life
    if (residents.size === 0) return
    changed(life, residents.size)
    for (const [deviceId, session] of residents) this.#open.set(deviceId, session)
    this.#ask()
  }

  /** What the control plane knows of devices: of those asked about anew this is the answer. */
  learned(profiles: readonly svc.v1.IDeviceProfile[]): void {
    for (const { deviceId, standing, credentialVersion, life } of profiles) {
      const session = this.#open.get(deviceId ?? '')
      if (!session || (life ?? 0) < this.number) continue
      this.#open.delete(session.deviceId)
      if (standing === Standing.ACTIVE) session.credentialVersion = credentialVersion ?? 0
      else session.close(reasons[standing ?? Standing.STANDING_UNSPECIFIED])
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#open.clear()
  }

  #ask(): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    for (const [deviceId, session] of this.#open)
      if (session.state.kind === 'gone') this.#open.delete(deviceId)
    const next = [...this.#open.keys()].slice(0, atOnce)
    if (next.length === 0) return
    void Promise.all(next.map((deviceId) => this.#deps.ask(deviceId))).then(
      () => this.#ask(),
      (error: unknown) => {
        this.#deps.failed(error)
        if (this.#closed) return
        this.#timer = setTimeout(() => this.#ask(), againMs)
        this.#timer.unref()
      },
    )
  }
}

const reasons = {
  [Standing.STANDING_UNSPECIFIED]: 'CREDENTIAL_INVALID',
  [Standing.ACTIVE]: 'INTERNAL_ERROR',
  [Standing.STANDING_QUARANTINED]: 'QUARANTINED',
  [Standing.STANDING_DECOMMISSIONED]: 'DECOMMISSIONED',
} as const
