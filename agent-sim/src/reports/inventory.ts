import { createHash } from 'node:crypto'
import { svc } from '@svc/proto'
import type { Collected } from '../behaviours/behaviour.ts'
import type { Clock, Timer } from '../clock.ts'

/** A server of an earlier version never acks what it does not know: it gets that ever more seldom. */
const resend = { afterMs: 30_000, capMs: 3_600_000 } as const

const messages = {
  hardware: svc.v1.Hardware,
  os: svc.v1.OperatingSystem,
  disks: svc.v1.Disks,
  network: svc.v1.Network,
  software: svc.v1.Software,
}
const kinds = Object.keys(messages) as Kind[]

type Kind = keyof typeof messages

export interface InventoryOptions {
  clock: Clock
  collect: () => Promise<Collected[]>
  /** False when it could not be sent now. */
  send: (inventory: svc.v1.Inventory.$Properties) => boolean
  serverNow: () => number
  sent: (what: Kind) => void
}

interface Report {
  hash: Uint8Array
  /** by the own clock: it may be wrong, and what the server's says is known once there is a connection */
  collectedAt: number
  /** until it is acked; then the hash alone is needed */
  waiting: svc.v1.Inventory.$Properties | undefined
  /** on this connection */
  sent: number
  dueAt: number
}

/** The newest report of each kind: sent when it differs from what the server has, and again until the server has it. */
export class Inventory {
  readonly #options: InventoryOptions
  readonly #reports = new Map<Kind, Report>()
  #timer: Timer | undefined
  #live = false

  constructor(options: InventoryOptions) {
    this.#options = options
  }

  /** Collects everything and sends what changed. Answers the kinds. */
  async refresh(): Promise<Kind[]> {
    const collected = await this.#options.collect()
    const said = collected.map((payload) => this.#keep(payload))
    this.#flush()
    return said
  }

  /** An ack of an older report leaves the newer one waiting. */
  acked(kind: string, hash: Uint8Array): void {
    const report = this.#reports.get(kind as Kind)
    if (report && Buffer.from(hash).equals(report.hash)) report.waiting = undefined
  }

  connected(): void {
    this.#live = true
    for (const report of this.#reports.values()) Object.assign(report, { sent: 0, dueAt: 0 })
    this.#flush()
  }

  disconnected(): void {
    this.#live = false
    this.#timer?.cancel()
  }

  #keep(payload: Collected): Kind {
    const { kind, bytes } = encodePayload(payload)
    const hash = createHash('sha256').update(bytes).digest()
    const known = this.#reports.get(kind)
    if (known && hash.equals(known.hash)) return kind
    const waiting = { ...payload, hash }
    this.#reports.set(kind, { hash, waiting, collectedAt: this.#options.clock.now(), sent: 0, dueAt: 0 })
    return kind
  }

  #flush(): void {
    this.#timer?.cancel()
    if (!this.#live) return
    const { clock } = this.#options
    const waiting = [...this.#reports].filter(([, report]) => report.waiting)
    for (const [kind, report] of waiting) if (report.dueAt <= clock.now()) this.#send(kind, report)
    const next = Math.min(...waiting.map(([, { dueAt }]) => dueAt))
    if (waiting.length > 0) this.#timer = clock.after(next - clock.now(), () => this.#flush())
  }

  #send(kind: Kind, report: Report): void {
    const { clock, send, sent, serverNow } = this.#options
    const collectedAtMs = Math.round(serverNow() - (clock.now() - report.collectedAt))
    const gone = report.waiting !== undefined && send({ ...report.waiting, collectedAtMs })
    if (gone) sent(kind)
    report.dueAt = clock.now() + Math.min(resend.capMs, resend.afterMs * 2 ** report.sent)
    if (gone) report.sent += 1
  }
}

/** `hash` is over the encoded payload message (inventory.proto). */
function encodePayload(payload: Collected): { kind: Kind; bytes: Uint8Array } {
  const kind = kinds.find((name) => name in payload)
  if (!kind) throw new Error(`an inventory of what nobody knows: ${Object.keys(payload).join()}`)
  const message = messages[kind] as { encode(payload: unknown): { finish(): Uint8Array } }
  return { kind, bytes: message.encode((payload as Record<Kind, unknown>)[kind]).finish() }
}
