import { svc } from '@svc/proto'
import { type Bus, BusDown, type Consumer, MemoryBus, names, shardCount, StreamFull } from '@svc/proto/bus'
import { pino } from 'pino'
import { type Gateway, type GatewayOptions, buildGateway } from '../src/gateway.ts'
import { limits as defaults } from '../src/ops/limits.ts'
import { PairTransport } from '../src/transport/pair.ts'
import { ControlPlane } from './control-plane.ts'
import { type Agent, connect, type Device, dialPair, newDevice } from './wire.ts'

/** The in-process bus, with a switch. */
export class SwitchedBus implements Bus {
  readonly #memory = new MemoryBus()
  readonly #watchers = new Set<(up: boolean) => void>()
  up = true
  full = false
  /** answers pings and takes no entry */
  broken = false
  /** answers no append */
  hangs = false

  switch(on: boolean): void {
    this.up = on
    for (const watcher of this.#watchers) watcher(on)
  }

  async publish(channel: string, payload: Uint8Array): Promise<number> {
    return this.up ? this.#memory.publish(channel, payload) : 0
  }

  subscribe(channel: string, handler: (payload: Uint8Array) => void): Promise<() => void> {
    return this.#memory.subscribe(channel, handler)
  }

  async append(stream: string, payload: Uint8Array): Promise<void> {
    if (!this.up || this.broken) throw new BusDown(stream)
    if (this.hangs) return new Promise(() => {})
    if (this.full) throw new StreamFull(stream)
    return this.#memory.append(stream, payload)
  }

  consumer(stream: string, group: string, name: string): Consumer {
    return this.#memory.consumer(stream, group, name)
  }

  onState(handler: (up: boolean) => void): () => void {
    this.#watchers.add(handler)
    handler(this.up)
    return () => this.#watchers.delete(handler)
  }

  close(): Promise<void> {
    return this.#memory.close()
  }
}

/** Reads what gateways have appended, all shards, in order per shard. */
export function readUp(bus: Bus): () => Promise<svc.v1.UpBatch[]> {
  const consumers = Array.from({ length: shardCount }, (_, shard) =>
    bus.consumer(names.up(shard), 'test', 'test'),
  )
  return async () => {
    const batches: svc.v1.UpBatch[] = []
    for (const consumer of consumers) {
      for (;;) {
        const entries = await consumer.read({ count: 1000, blockMs: 0 })
        if (entries.length === 0) break
        batches.push(...entries.map(({ payload }) => svc.v1.UpBatch.decode(payload)))
        await consumer.ack(entries.map(({ id }) => id))
      }
    }
    return batches
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until it holds; fails after twenty seconds. */
export async function until(holds: () => boolean | Promise<boolean>, what = 'it'): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what} did not come true`)
    await pause(5)
  }
}

/** A control plane, a bus, and gateways on it; ends with `stop`. */
export class World {
  readonly bus = new SwitchedBus()
  readonly plane = new ControlPlane()
  readonly gateways: Gateway[] = []
  readonly #readUp = readUp(this.bus)
  readonly #up: svc.v1.UpBatch[] = []

  async start(): Promise<this> {
    await this.plane.start()
    return this
  }

  /** A gateway in this world, with connections in memory. */
  async gateway(options: Partial<GatewayOptions> = {}, node = `node-${this.gateways.length}`) {
    const maxBacklogBytes = options.limits?.maxBacklogBytes ?? defaults.maxBacklogBytes
    const transport = new PairTransport({ maxBacklogBytes })
    const gateway = buildGateway({
      config: this.config(node),
      bus: this.bus,
      logger: pino({ level: 'silent' }),
      transport,
      ...options,
      limits: { flushEveryMs: 10, tickMs: 10, exchangeEveryMs: 50, ...options.limits },
    })
    this.gateways.push(gateway)
    const { url } = await gateway.listen()
    return { gateway, url, dial: dialPair(transport), dialFrom: (from: string) => dialPair(transport, from) }
  }

  config(node: string) {
    return {
      host: '127.0.0.1',
      port: 0,
      node,
      metrics: undefined,
      mqtt: { host: '127.0.0.1', port: undefined, tlsPort: undefined },
      workers: 1,
      redisUrl: undefined,
      exchangeUrls: [this.plane.url],
      sharedKey: this.plane.key,
      trustedProxies: [],
      tls: undefined,
      version: '0.0.0-test',
      logLevel: 'silent',
    }
  }

  /** A device that the control plane knows. */
  device(more: svc.v1.IDeviceProfile = {}, shard?: number): Device {
    const device = newDevice(shard)
    this.plane.knows(device, more)
    return device
  }

  /** Everything that has gone up so far. */
  async up(): Promise<svc.v1.UpBatch[]> {
    this.#up.push(...(await this.#readUp()))
    return this.#up
  }

  /** The items about a device, in order. */
  async upOf(device: Device): Promise<svc.v1.IUpItem[]> {
    return (await this.up()).flatMap(({ items }) => items).filter(({ deviceId }) => deviceId === device.id)
  }

  /** What was carried up and taken about a device, in order. */
  carried(device: Device): svc.v1.IUpItem[] {
    const batches: svc.v1.UpBatch[] = this.plane.up.map((batch) => svc.v1.UpBatch.decode(batch))
    return batches.flatMap(({ items }) => items).filter(({ deviceId }) => deviceId === device.id)
  }

  /** The shards whose watermark of a node was carried beyond a moment. */
  marks(node: string, sinceMs: number): Set<number> {
    const loads = this.plane.requests.flatMap(({ up }) => up)
    const marked = loads.filter(({ batch }) => {
      const mark = svc.v1.UpBatch.decode(batch ?? new Uint8Array())
      return mark.node === node && mark.completeThroughMs >= sinceMs
    })
    return new Set(marked.map(({ shard }) => shard ?? 0))
  }

  tell(node: string, message: svc.v1.IEdgeMessage): Promise<number> {
    return this.bus.publish(
      names.edge(node),
      svc.v1.EdgeMessage.encode(message as svc.v1.EdgeMessage).finish(),
    )
  }

  async stop(): Promise<void> {
    this.bus.full = false
    this.bus.switch(true)
    await Promise.all(this.gateways.map((gateway) => gateway.close()))
    await this.plane.stop()
  }
}

/** Connects and is welcomed. */
export async function admitted(
  dial: ReturnType<typeof dialPair>,
  device: Device,
): Promise<{ agent: Agent; epoch: number }> {
  const agent = await connect(dial, device)
  const answer = await agent.greet()
  if (!answer.welcome) throw new Error(`refused: ${JSON.stringify(answer.refused)}`)
  return { agent, epoch: answer.welcome.epoch ?? 0 }
}
