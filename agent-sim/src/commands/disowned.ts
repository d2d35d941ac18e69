import { svc } from '@svc/proto'
import type { Clock, Timer } from '../clock.ts'

/** A flood of forged frames must not become one of answers, which would cost this device its connection. */
const sayEveryMs = 1_000
/** Of a frame that names no command. */
const noId = '00000000-0000-0000-0000-000000000000'
/** A gateway ends the connection on which another kind of id comes. */
const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export interface DisownedOptions {
  clock: Clock
  /** False when it could not be sent now. */
  send: (result: svc.v1.CommandResult.$Properties) => boolean
}

/** Tells the server how many frames came that were not signed for this device: at once, and then as often as once a second. */
export class Disowned {
  readonly #options: DisownedOptions
  #untold = 0
  #last = ''
  #error = ''
  #timer: Timer | undefined

  constructor(options: DisownedOptions) {
    this.#options = options
  }

  /** @param commandId as the frame has it; nothing that it says is to be believed */
  add(commandId: string, error: string): void {
    this.#untold += 1
    this.#last = idForm.test(commandId) ? commandId : noId
    this.#error = error
    if (!this.#timer) this.#say()
  }

  /** Says no more; what was not told is not. */
  close(): void {
    this.#timer?.cancel()
  }

  /** What could not be sent is told a second later, with what has come since. */
  #say(): void {
    this.#timer = undefined
    if (this.#untold === 0) return
    const { clock, send } = this.#options
    // For servers that do not know the field it is a refusal of that command.
    const outcome = svc.v1.Outcome.REJECTED
    if (send({ commandId: this.#last, outcome, error: this.#error, disowned: this.#untold })) this.#untold = 0
    this.#timer = clock.after(sayEveryMs, () => this.#say())
  }
}
