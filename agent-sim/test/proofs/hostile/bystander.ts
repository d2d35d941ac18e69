import { encodeBody, withSeq } from '@svc/proto'
import { hello } from './fuzz.ts'
import type { Identity } from '../ledgers.ts'
import type { Transport } from './model.ts'
import { Peer } from './peer.ts'
import { readSchema } from './schema.ts'

/** What this process is told at first: who it plays, and where. */
export interface Play {
  devices: { transport: Transport; url: string; identity: Identity }[]
}

/** What it answers each time that it is asked: how long heartbeats since the last time took, and connections that were lost. */
export interface Heard {
  latenciesMs: number[]
  lost: string[]
}

/** Less than the frames that a device may send. */
const everyMs = 50
const beat = Buffer.from(withSeq(2, encodeBody({ heartbeat: {} })))
const schema = readSchema()

/** One well-behaved device: a heartbeat each so often, and how long its answer took. One that does not come is as late as it is by now. */
class Bystander {
  latencies: number[] = []
  readonly #peer: Peer
  readonly #sent: number[] = []
  #answered = 0

  constructor(peer: Peer) {
    this.#peer = peer
    setInterval(() => this.#beat(), everyMs)
    peer.socket.on('data', () => this.#hear())
  }

  get lost(): string | undefined {
    return this.#peer.isOver ? `${this.#peer.transport}: ${this.#peer.reason ?? 'no reason'}` : undefined
  }

  take(): number[] {
    const now = performance.now()
    const overdue = this.#sent.map((at) => now - at).filter((late) => late > everyMs * 4)
    return [...this.latencies.splice(0), ...overdue]
  }

  #beat(): void {
    if (this.#peer.isOver) return
    this.#sent.push(performance.now())
    this.#peer.write(this.#peer.envelope(beat))
  }

  #hear(): void {
    for (; this.#answered < this.#peer.seen.answers; this.#answered++) {
      const at = this.#sent.shift()
      if (at !== undefined) this.latencies.push(performance.now() - at)
    }
  }
}

/** Plays them in a process of its own, so that what is measured is the gateway and not whoever torments it. */
async function main(): Promise<void> {
  const { devices } = await new Promise<Play>((resolve) =>
    process.once('message', (play) => resolve(play as Play)),
  )
  const bystanders: Bystander[] = []
  for (const { transport, url, identity } of devices) {
    const peer = await Peer.open({ transport, url, identity, schema })
    if (!(await peer.enter(hello))) throw new Error(`turned away over ${transport}`)
    bystanders.push(new Bystander(peer))
  }
  process.on('message', () => {
    const heard: Heard = {
      latenciesMs: bystanders.flatMap((one) => one.take()),
      lost: bystanders.flatMap(({ lost }) => (lost ? [lost] : [])),
    }
    process.send?.(heard)
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
}

if (process.send) await main()
