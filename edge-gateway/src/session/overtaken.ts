/**
 * Admissions under way, and what was said about their devices meanwhile. A newer connection of a device may be admitted at another
 * node, and its word that ours is superseded may be here, before the answer to our own question is: then nobody is here yet who could
 * be turned out, and nobody would say it again.
 */
export class Overtaken {
  readonly #admissions = new Map<string, { underWay: number; belowEpoch: number }>()

  /** An admission begins; {@link ended} must follow. */
  began(deviceId: string): void {
    const known = this.#admissions.get(deviceId)
    if (known) known.underWay++
    else this.#admissions.set(deviceId, { underWay: 1, belowEpoch: 0 })
  }

  /** Somebody else holds the device at that epoch. */
  superseded(deviceId: string, belowEpoch: number): void {
    const known = this.#admissions.get(deviceId)
    if (known) known.belowEpoch = Math.max(known.belowEpoch, belowEpoch)
  }

  /** An admission is over. Answers the epoch below which it comes too late; 0: it does not. */
  ended(deviceId: string): number {
    const known = this.#admissions.get(deviceId)
    if (!known) return 0
    known.underWay--
    if (known.underWay === 0) this.#admissions.delete(deviceId)
    return known.belowEpoch
  }
}
