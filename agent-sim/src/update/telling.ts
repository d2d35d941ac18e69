import { svc } from '@svc/proto'
import type { UpdateStatus } from './updater.ts'

const { UpdatePhase } = svc.v1

/** So many heartbeats were answered on the connection after the last word: it arrived, and the connection lasted. */
const answersNeeded = 2

export const isLast = (phase: svc.v1.UpdatePhase): boolean =>
  [UpdatePhase.DONE, UpdatePhase.ROLLED_BACK, UpdatePhase.UPDATE_FAILED].includes(phase)

interface Told {
  status: UpdateStatus
  /** on this connection */
  said: boolean
  answers: number
  arrived: () => void
}

/** The last word about each component's update: nothing acknowledges it, so it is said again on each connection until it arrived. */
export class Telling {
  readonly #say: (status: UpdateStatus) => boolean
  readonly #told = new Map<string, Told>()

  constructor(say: (status: UpdateStatus) => boolean) {
    this.#say = say
  }

  /** @param arrived called once for a last word, when it need not be said again */
  tell(status: UpdateStatus, arrived: () => void = () => {}): void {
    const told = { status, said: this.#say(status), answers: 0, arrived }
    this.#told.set(status.component ?? '', told)
  }

  connected(): void {
    for (const told of this.#told.values()) Object.assign(told, { said: this.#say(told.status), answers: 0 })
  }

  answered(): void {
    for (const [component, told] of this.#told) {
      if (!told.said) told.said = this.#say(told.status)
      else told.answers += 1
      if (told.answers < answersNeeded || !isLast(told.status.phase ?? 0)) continue
      this.#told.delete(component)
      told.arrived()
    }
  }
}
