import type { Api } from '../../system/harness/api.ts'
import type { System } from '../../system/harness/system.ts'
import type { Identity } from '../ledgers.ts'
import { enroll } from '../../system/harness/voice.ts'
import { hello } from './fuzz.ts'
import type { Transport } from './model.ts'
import { type Doors, Peer } from './peer.ts'
import { readSchema, type Schema } from './schema.ts'

export const transports: readonly Transport[] = ['websocket', 'mqtt', 'mqtt-ws']

/** Where a system's gateway takes connections. */
export const doorsOf = ({ gatewayUrls, mqttUrls }: System, gateway: number): Doors => ({
  websocket: gatewayUrls[gateway] ?? '',
  mqtt: mqttUrls[gateway] ?? '',
  'mqtt-ws': (gatewayUrls[gateway] ?? '').replace('/agent', '/mqtt'),
})

/** Where bad peers come from: a system, one of its gateways, and as many devices as it takes. */
export class Scene {
  readonly system: System
  readonly api: Api
  readonly doors: Doors
  readonly schema: Schema = readSchema()
  #enrolled = 0

  constructor(system: System, api: Api, gateway = 0) {
    this.system = system
    this.api = api
    this.doors = doorsOf(system, gateway)
  }

  /** Devices that nobody has heard of yet. */
  devices(count: number): Promise<Identity[]> {
    return Promise.all(Array.from({ length: count }, () => this.device()))
  }

  /** @param more of what it enrolls with */
  device(more: object = {}): Promise<Identity> {
    return enroll(this.api, this.system, `hostile${process.pid}-${++this.#enrolled}`, more)
  }

  /** A connection that has said nothing. */
  async open(transport: Transport, identity?: Identity, localAddress?: string): Promise<Peer> {
    const who = identity ?? (await this.device())
    const { schema } = this
    return Peer.open({ transport, url: this.doors[transport], identity: who, schema, localAddress })
  }

  /** A device that is in and listens; throws when it is turned away. */
  async enter(transport: Transport, identity?: Identity): Promise<Peer> {
    const peer = await this.open(transport, identity)
    if (await peer.enter(hello)) return peer
    throw new Error(`turned away over ${transport}: ${peer.reason ?? peer.seen.status ?? peer.seen.connack}`)
  }
}
