import { Counter, type Registry } from 'prom-client'

/** Offers to devices: the first of a command, one again because it was not acknowledged in time, a request to cancel; and of all those that no gateway heard. */
export interface OfferTally {
  first: number
  again: number
  cancel: number
  unheard: number
}

export const noOffers = (): OfferTally => ({ first: 0, again: 0, cancel: 0, unheard: 0 })

/** Shows what was offered. */
export function offerMetrics(registry: Registry, { offers }: { offers: OfferTally }): void {
  new Counter({
    name: 'svc_commands_offered_total',
    help: 'Commands handed to gateways: first, again (not acknowledged in time), cancel; unheard: those that no gateway heard',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [kind, value] of Object.entries(offers)) this.inc({ kind }, value)
    },
  })
}
