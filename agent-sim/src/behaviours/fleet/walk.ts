import type { Random } from '../../clock.ts'

/** A number that wanders between bounds and tends back to where it belongs, as loads do. */
export class Walk {
  readonly #random: Random
  readonly #home: number
  readonly #stride: number
  #value: number

  constructor(random: Random, home: number, stride: number) {
    this.#random = random
    this.#home = home
    this.#stride = stride
    this.#value = home
  }

  /** The next value, 0 to 100. */
  step(): number {
    const pull = 0.15 * (this.#home - this.#value)
    const push = (this.#random() - 0.5) * 2 * this.#stride
    this.#value = Math.min(100, Math.max(0, this.#value + pull + push))
    return this.#value
  }
}
