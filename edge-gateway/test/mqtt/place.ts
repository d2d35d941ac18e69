import { join } from 'node:path'
import { encodeBody, svc, withSeq } from '@svc/proto'
import { pino } from 'pino'
import { buildGateway, type GatewayOptions } from '../../src/gateway.ts'
import type { Limits } from '../../src/ops/limits.ts'
import { World } from '../harness.ts'
import type { Device } from '../wire.ts'
import { down, enter, publishPacket, type RawClient, up } from './client.ts'

export interface PlaceOptions extends Pick<GatewayOptions, 'claims'> {
  limits?: Partial<Limits>
  tls?: boolean
  trustedProxies?: string[]
}

/** A gateway with all its ports, in a world of its own. */
export class Place {
  static readonly tlsFiles = {
    certFile: join(import.meta.dirname, '../tls/cert.pem'),
    keyFile: join(import.meta.dirname, '../tls/key.pem'),
  }

  readonly world = new World()
  /** MQTT over TCP, over TLS, and over WebSocket */
  tcp = ''
  tls = ''
  websocket = ''
  /** as WebSocket agents know it */
  agent = ''
  readonly log: Record<string, unknown>[] = []
  #gateway: ReturnType<typeof buildGateway> | undefined

  static async open({ limits, tls = false, trustedProxies = [], claims }: PlaceOptions = {}): Promise<Place> {
    const place = new Place()
    const { world, log } = place
    await world.start()
    const gateway = buildGateway({
      config: {
        ...world.config('n1'),
        trustedProxies,
        tls: tls ? Place.tlsFiles : undefined,
        mqtt: { host: '127.0.0.1', port: 0, tlsPort: 0 },
      },
      bus: world.bus,
      logger: pino({ level: 'info' }, { write: (line) => void log.push(JSON.parse(line)) }),
      limits: { flushEveryMs: 10, tickMs: 10, exchangeEveryMs: 50, ...limits },
      ...(claims ? { claims } : {}),
    })
    world.gateways.push(gateway)
    place.#gateway = gateway
    const { url, mqtt = [] } = await gateway.listen()
    place.agent = url
    place.websocket = url.replace('/agent', '/mqtt')
    place.tcp = mqtt[0] ?? ''
    place.tls = mqtt[1] ?? ''
    return place
  }

  get gateway() {
    if (!this.#gateway) throw new Error('not open')
    return this.#gateway
  }

  get closed(): Record<string, number> {
    return { ...this.gateway.stats().counters.closed } as Record<string, number>
  }

  deliver(device: Device, body: Omit<svc.v1.IEnvelope, 'seq'>): Promise<number> {
    return this.world.tell('n1', { deliver: { deviceId: device.id, frame: encodeBody(body) } })
  }

  async close(): Promise<void> {
    await this.world.stop()
  }
}

export const frame = (body: Omit<svc.v1.IEnvelope, 'seq'>): Uint8Array => withSeq(1, encodeBody(body))

/** An envelope on its way up. */
export const saying = (
  device: Device,
  body: Omit<svc.v1.IEnvelope, 'seq'>,
  more: { qos?: number; id?: number } = {},
): Buffer => publishPacket(up(device), frame(body), more)

/** The next envelope for the device. */
export const heard = async (client: RawClient, device: Device): Promise<svc.v1.Envelope> =>
  svc.v1.Envelope.decode(await client.delivered(down(device)))

/** Lets a device in, and takes its Welcome. */
export async function welcomed(url: string, device: Device) {
  const client = await enter(url, device)
  const { welcome } = await heard(client, device)
  if (!welcome) throw new Error('no welcome')
  return { client, epoch: welcome.epoch ?? 0 }
}
