import { LRUCache } from 'lru-cache'
import type { Pipeline } from '../../pipeline.ts'
import { LatestReleases } from './releases.ts'

/** Devices that a process remembers having looked at; forgetting one costs a look. */
const maxDevices = 100_000

/**
 * What a process remembers, so that devices which stay as they are cost no question: the newest releases, and how it last found
 * those that are outdated or have an old configuration. All of it may be forgotten at any time.
 */
export class UpdateDesk {
  readonly releases = new LatestReleases()
  /** by device: what was looked at; nothing is offered to it before something of that changes, or time passes */
  readonly looked: LRUCache<string, string>
  /** by device: the configuration that it was sent, and on which connection */
  readonly told: LRUCache<string, string>

  constructor({ updateOfferMs, configLeaseMs }: Pick<Pipeline, 'updateOfferMs' | 'configLeaseMs'>) {
    this.looked = new LRUCache({ max: maxDevices, ttl: updateOfferMs })
    this.told = new LRUCache({ max: maxDevices, ttl: configLeaseMs })
  }
}
