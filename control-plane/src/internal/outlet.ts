import { names } from '@svc/proto/bus'
import type { Outlet } from '../engines/work/deliver.ts'

/** Well below what a gateway takes (64 MiB): what does not fit is not claimed, and comes with a later answer. */
const maxBytes = 16 * 1024 * 1024

/** Keeps what is said to the gateway that waits for an answer, in order; what is said to others goes over the bus. */
export class AnswerOutlet implements Outlet {
  readonly #bus: Outlet
  readonly #channel: string
  readonly messages: Uint8Array[] = []
  #bytes = 0

  constructor(bus: Outlet, node: string) {
    this.#bus = bus
    this.#channel = names.edge(node)
  }

  /** Whoever waits for an answer gets it. */
  get up(): boolean {
    return true
  }

  async publish(channel: string, payload: Uint8Array): Promise<number> {
    if (channel !== this.#channel) return this.#bus.publish(channel, payload)
    this.#bytes += payload.length
    if (this.#bytes > maxBytes) return 0
    this.messages.push(payload)
    return 1
  }
}
