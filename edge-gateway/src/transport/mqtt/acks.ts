import type { Taken } from '../link.ts'

/** Acknowledgements of one connection: given in the order in which publications came (MQTT 3.1.1 §4.6), each when it was accepted. */
export class Acks {
  readonly #acknowledge: (messageId: number) => void
  readonly #refused: () => void
  #waiting: { messageId: number; accepted: boolean }[] = []

  /** @param refused one was not accepted: there is no packet for that */
  constructor(acknowledge: (messageId: number) => void, refused: () => void) {
    this.#acknowledge = acknowledge
    this.#refused = refused
  }

  /** publications that nobody has answered for yet, or whose turn has not come */
  get size(): number {
    return this.#waiting.length
  }

  /** Takes the next publication's turn. */
  expect(messageId: number): Taken {
    const turn = { messageId, accepted: false }
    this.#waiting.push(turn)
    return (accepted) => {
      if (!accepted) return this.#refused()
      turn.accepted = true
      while (this.#waiting[0]?.accepted) this.#acknowledge(this.#waiting.shift()?.messageId ?? 0)
    }
  }
}
