import { type Bus, BusDown, names, type Unsubscribe } from '@svc/proto/bus'

/** What takes a lane's batches to the control plane. */
export interface Carrier {
  /** Whether there is any use in trying now. */
  readonly up: boolean
  /**
   * Resolves once the batch, of so many items, cannot be lost any more. Rejects with `StreamFull`, `BusDown` or `ExchangeDown`: it
   * goes again.
   */
  append(shard: number, batch: Uint8Array, items: number): Promise<void>
  /** Called whenever it is worth trying at once. */
  onChange(handler: () => void): Unsubscribe
}

/** The up-streams. */
export const streams = (bus: Bus): Carrier => ({
  get up() {
    return bus.up
  },
  append: (shard, batch) => whileUp(bus, bus.append(names.up(shard), batch)),
  onChange: (handler) => bus.onState(handler),
})

/** Takes batches by another way than the streams. */
export interface Courier {
  readonly up: boolean
  /** Resolves once the control plane has committed the batch, of so many items; rejects with `ExchangeDown`. */
  carry(shard: number, batch: Uint8Array, items: number): Promise<void>
  /** Called on each change of `up`. */
  onChange(handler: () => void): Unsubscribe
}

/**
 * The up-streams, and where those cannot be reached the exchange (docs/decisions/0016). A full stream is pushed back all the same: its
 * readers are behind, and what comes by another way would make them later still.
 */
export function streamsOrExchange(bus: Bus, exchange: Courier): Carrier {
  const own = streams(bus)
  return {
    get up() {
      return bus.up || exchange.up
    },
    append: async (shard, batch, items) => {
      try {
        return await own.append(shard, batch, items)
      } catch (error) {
        // Also one that answers pings and takes nothing, because its memory is full or it may only be read.
        if (!(error instanceof BusDown) || !exchange.up) throw error
        return exchange.carry(shard, batch, items)
      }
    },
    onChange: (handler) => {
      const unwatch = [own.onChange(handler), exchange.onChange(handler)]
      return () => unwatch.forEach((stop) => stop())
    },
  }
}

/** What was asked of a bus that goes away meanwhile is not waited for. It may be done all the same: readers bear duplicates. */
async function whileUp(bus: Bus, asked: Promise<void>): Promise<void> {
  let unwatch: Unsubscribe = () => {}
  const away = new Promise<never>((_, reject) => {
    unwatch = bus.onState((up) => {
      if (!up) reject(new BusDown('the bus went away'))
    })
  })
  try {
    await Promise.race([asked, away])
  } finally {
    unwatch()
  }
}
