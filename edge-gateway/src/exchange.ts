import type { svc } from '@svc/proto'
import type { Unsubscribe } from '@svc/proto/bus'
import { ExchangeCall, ExchangeDown } from './uplink/exchange-call.ts'
import type { Counters } from './ops/counters.ts'
import type { Limits } from './ops/limits.ts'
import { Cargo } from './uplink/cargo.ts'

export { ExchangeDown } from './uplink/exchange-call.ts'

export interface ExchangeDeps {
  /** of control planes, at least one */
  urls: readonly string[]
  /** shared with the control plane (`EDGE_SHARED_KEY`) */
  key: string
  node: string
  version: string
  limits: Limits
  counters: Counters
  connections: () => number
  /** nothing that is published reaches this node */
  busAway: () => boolean
  /** Takes in what came down with a load that went up, in order. */
  deliver: (messages: readonly Uint8Array[]) => void
  /** Takes in an answer. Those who asked are told when it has resolved. */
  take: (answer: svc.v1.ExchangeAnswer) => Promise<void>
  /** The control plane stopped answering (with why), or answers again. */
  onState: (up: boolean, why?: Error) => void
}

interface Question {
  promise: Promise<void>
  resolve(): void
  reject(error: Error): void
}

/**
 * The gateway's one conversation with the control plane: `POST /internal/edge/exchange`, protobuf both ways. Each call renews
 * the node's lease, brings the credentials that died since the last one, and answers what was asked about devices. One call is
 * under way at a time; what is asked meanwhile goes together in the next.
 *
 * While the bus is away batches are carried up here, too, by calls of their own: one that takes long, or fails, must not keep
 * admissions and revocations waiting.
 */
export class Exchange {
  readonly #deps: ExchangeDeps
  readonly #call: ExchangeCall
  readonly #cargo: Cargo
  readonly #watchers = new Set<() => void>()
  readonly #questions = new Map<string, Question>()
  #cursorMs = 0
  #life = 0
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** undefined: not known yet */
  #up: boolean | undefined

  constructor(deps: ExchangeDeps) {
    this.#deps = deps
    this.#call = new ExchangeCall(deps.urls, deps.key)
    this.#cargo = new Cargo({ ...deps, call: (up) => this.#carryUp(up) })
  }

  get up(): boolean {
    return this.#up === true
  }

  /** Begins to poll. */
  start(): void {
    this.#timer = setInterval(() => void this.poll(), this.#deps.limits.exchangeEveryMs)
    void this.poll()
  }

  /** One exchange now, or the end of the one under way. Never rejects. */
  poll(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  /** Resolves once what the control plane knows of the device has been taken in; rejects with {@link ExchangeDown}. */
  ask(deviceId: string): Promise<void> {
    const asked = this.#questions.get(deviceId)
    if (asked) return asked.promise
    if (this.#closed || this.#questions.size >= this.#deps.limits.maxAdmissionsWaiting)
      return Promise.reject(new ExchangeDown('too many questions'))
    const question = newQuestion()
    this.#questions.set(deviceId, question)
    void this.poll()
    return question.promise
  }

  /** Resolves once the control plane has committed the batch of so many items; rejects with {@link ExchangeDown}: it goes again. */
  carry(shard: number, batch: Uint8Array, items: number): Promise<void> {
    return this.#cargo.carry(shard, batch, items)
  }

  /** Called on each change of `up`. */
  onChange(handler: () => void): Unsubscribe {
    this.#watchers.add(handler)
    return () => this.#watchers.delete(handler)
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
    this.#cargo.close()
    this.#call.close()
    this.#fail([...this.#questions.keys()], new ExchangeDown('closed'))
  }

  async #run(): Promise<void> {
    try {
      do {
        // A moment for others who ask in the same turn.
        await new Promise(setImmediate)
        if (this.#closed || !(await this.#flight())) return
      } while (this.#questions.size > 0)
    } finally {
      // Here and not in a later turn: a question asked in between would wait for the next poll.
      this.#running = undefined
    }
  }

  async #flight(): Promise<boolean> {
    const { limits, counters, take } = this.#deps
    const asked = [...this.#questions.keys()].slice(0, limits.maxAdmissionsPerExchange)
    try {
      const answer = await this.#ask(asked)
      await take(answer)
      // In another life of the database other credentials are dead: all that it keeps, once.
      const isAnother = answer.life > this.#life
      if (isAnother) this.#life = answer.life
      this.#cursorMs = isAnother ? 0 : Math.max(this.#cursorMs, answer.revocationsCursorMs)
      counters.exchanges++
      this.#set(true)
      this.#answer(asked)
      return true
    } catch (error) {
      counters.exchangeFailures++
      const why = error instanceof Error ? error : new Error(String(error))
      this.#set(false, why)
      // All of them: the next flight would have to wait for the same silence.
      this.#fail([...this.#questions.keys()], new ExchangeDown(why.message, { cause: why }))
      return false
    }
  }

  #set(up: boolean, why?: Error): void {
    if (up === this.#up || this.#closed) return
    this.#up = up
    this.#deps.onState(up, why)
    for (const watcher of this.#watchers) watcher()
  }

  #answer(deviceIds: readonly string[]): void {
    for (const deviceId of deviceIds) {
      this.#questions.get(deviceId)?.resolve()
      this.#questions.delete(deviceId)
    }
  }

  #fail(deviceIds: readonly string[], error: Error): void {
    for (const deviceId of deviceIds) {
      this.#questions.get(deviceId)?.reject(error)
      this.#questions.delete(deviceId)
    }
  }

  #ask(asked: readonly string[]): Promise<svc.v1.ExchangeAnswer> {
    const { node, version, limits, connections, busAway } = this.#deps
    const request = {
      node,
      version,
      connections: connections(),
      revocationsSinceMs: this.#cursorMs,
      admissions: asked.map((deviceId) => ({ deviceId })),
      busAway: busAway(),
    }
    return this.#call.ask(request, limits.exchangeWithinMs)
  }

  #carryUp(up: svc.v1.IShardBatch[]): Promise<svc.v1.ExchangeAnswer> {
    const { node, version, limits, busAway } = this.#deps
    return this.#call.ask({ node, version, up, upAlone: true, busAway: busAway() }, limits.carryWithinMs)
  }
}

const newQuestion = (): Question => {
  let resolve = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<void>((done, failed) => {
    resolve = done
    reject = failed
  })
  // Who asked may have left.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
