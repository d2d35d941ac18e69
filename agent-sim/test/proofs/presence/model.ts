/**
 * What must be so of one device, from what whoever played it saw, in the order in which it was seen. Knows nothing of the product:
 * a device asks gateways for connections, is welcomed with a number, and the highest number is the connection that counts.
 */
export interface Connection {
  /** of which life of which gateway it was asked */
  life: number
  askedAt: number
  /** with what it was welcomed, and when; absent: not yet, or never */
  epoch?: number
  welcomedAt?: number
  /** who asked was told no, or did not reach anybody: it can never have counted */
  refused?: true
  /** how it ended: by us; because of a newer one, as the other side said; for another reason that the other side had, or without a word */
  end?: 'left' | 'superseded' | 'lost'
  endedAt?: number
}

/** What must be so in the end. `undefined`: nobody holds the device. */
export interface Expected {
  holder: { life: number; epoch: number } | undefined
  /** which number may be known as the last one: at least and at most (Infinity where somebody asked and never heard), and of those welcomed */
  known: { least: number; last: number; most: number }
}

export class Model {
  readonly connections: Connection[] = []
  #moment = 0

  /** A connection is asked for. Answers its number. */
  asked(life: number): number {
    return this.connections.push({ life, askedAt: ++this.#moment }) - 1
  }

  welcomed(connection: number, epoch: number): void {
    Object.assign(this.#of(connection), { epoch, welcomedAt: ++this.#moment })
  }

  refused(connection: number): void {
    this.#of(connection).refused = true
  }

  /** We end it, with or without a goodbye. Nothing that comes later from it counts. */
  left(connection: number): void {
    this.#end(connection, 'left')
  }

  /** The other side ended it. */
  closed(connection: number, superseded: boolean): void {
    this.#end(connection, superseded ? 'superseded' : 'lost')
  }

  /** Welcomed and not ended, by its number. */
  get open(): number[] {
    return this.connections.flatMap(({ epoch, end }, number) => (epoch !== undefined && !end ? [number] : []))
  }

  /**
   * What could not have been seen if the promise holds, one line each.
   * @param isDead whether that life of a gateway is over
   */
  faults(isDead: (life: number) => boolean): string[] {
    return [...this.#disorder(), ...this.#unexplained(isDead), ...this.#leftOver()]
  }

  expected(isDead: (life: number) => boolean): Expected {
    const newest = this.#newest()
    if (!newest) return { holder: undefined, known: { least: 0, last: 0, most: this.#most(0) } }
    const { life, epoch, end } = newest
    if (!end) return { holder: { life, epoch }, known: { least: epoch, last: epoch, most: epoch } }
    // A gateway that dies takes with it what it has not handed on.
    const told = this.#welcomed().filter((one) => !isDead(one.life))
    return {
      holder: undefined,
      known: {
        least: Math.max(0, ...told.map((one) => one.epoch)),
        last: epoch,
        most: this.#most(epoch),
      },
    }
  }

  /** Who asks after somebody was welcomed gets a higher number; no number is given twice. */
  #disorder(): string[] {
    const welcomed = this.#welcomed()
    return welcomed.flatMap((later, at) =>
      welcomed
        .filter((one, before) =>
          one.welcomedAt < later.askedAt
            ? one.epoch >= later.epoch
            : before < at && one.epoch === later.epoch,
        )
        .map(({ epoch }) => `epoch ${later.epoch} was given after ${epoch}`),
    )
  }

  /** The other side ends a connection because of a newer one, or as its gateway dies. */
  #unexplained(isDead: (life: number) => boolean): string[] {
    return this.#welcomed().flatMap((one) => {
      if (one.end === 'lost' && !isDead(one.life)) return [`epoch ${one.epoch} was closed for no reason`]
      if (one.end !== 'superseded') return []
      const newer = this.connections.some((other) => (other.epoch ?? 0) > one.epoch)
      return newer || this.#unheard(one.endedAt ?? 0) ? [] : [`epoch ${one.epoch} gave way to none`]
    })
  }

  /** Only the newest may be open. */
  #leftOver(): string[] {
    const newest = this.#newest()
    return this.#welcomed()
      .filter((one) => one !== newest && !one.end)
      .map(({ epoch }) => `epoch ${epoch} is open beside ${newest?.epoch}`)
  }

  #newest() {
    return this.#welcomed().reduce<(Connection & { epoch: number }) | undefined>(
      (newest, one) => (newest && newest.epoch > one.epoch ? newest : one),
      undefined,
    )
  }

  #welcomed() {
    return this.connections.filter(
      (one): one is Connection & { epoch: number; welcomedAt: number } => one.epoch !== undefined,
    )
  }

  /** Somebody asked before that moment who never got an answer: perhaps it counted for a while. */
  #unheard(before: number): boolean {
    return this.connections.some(
      ({ epoch, refused, askedAt }) => epoch === undefined && !refused && askedAt < before,
    )
  }

  #most(epoch: number): number {
    return this.#unheard(Number.POSITIVE_INFINITY) ? Number.POSITIVE_INFINITY : epoch
  }

  #end(connection: number, end: NonNullable<Connection['end']>): void {
    const one = this.#of(connection)
    if (!one.end) Object.assign(one, { end, endedAt: ++this.#moment })
  }

  #of(connection: number): Connection {
    const one = this.connections[connection]
    if (!one) throw new Error(`connection ${connection} was not asked for`)
    return one
  }
}
