import type { svc } from '@svc/proto'
import type { Unsubscribe } from '@svc/proto/bus'
import type { Shown, Told } from './session/admit.ts'
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
  about: svc.v1.IAdmissionQuery
  promise: Promise<Told>
  resolve(told: Told): void
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
  #cursorXact = 0
  #life = 0
  /** how many gaps of the bus the control plane has heard of */
  #gapsTold = 0
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** undefined: not known yet */
  #up: boolean | undefined
  #answeredAt = performance.now()

  constructor(deps: ExchangeDeps) {
    this.#deps = deps
    this.#call = new ExchangeCall(deps.urls, deps.key)
    this.#cargo = new Cargo({ ...deps, call: (up) => this.#carryUp(up) })
  }

  get up(): boolean {
    return this.#up === true
  }

  /** Milliseconds since the last answer was taken in; before the first, since it was made. */
  get ageMs(): number {
    return performance.now() - this.#answeredAt
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

  /**
   * Resolves once what the control plane knows of the device has been taken in; rejects with {@link ExchangeDown}.
   * @param shown by whoever waits for the answer; the id alone where nobody does
   */
  ask({ deviceId, tokenSha256, proof }: Pick<Shown, 'deviceId'> & Partial<Shown>): Promise<Told> {
    const key = tokenSha256 ? `${deviceId} ${tokenSha256.toString('hex')}` : deviceId
    const asked = this.#questions.get(key)
    if (asked) return asked.promise
    if (this.#closed || this.#questions.size >= this.#deps.limits.maxAdmissionsWaiting)
      return Promise.reject(new ExchangeDown('too many questions'))
    const question = newQuestion({
      deviceId,
      ...(tokenSha256 && { tokenSha256 }),
      ...(proof && { proof }),
    })
    this.#questions.set(key, question)
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
      for (;;) {
        // A moment for others who ask in the same turn.
        await new Promise(setImmediate)
        if (this.#closed) return
        const began = performance.now()
        const answered = await this.#flight()
        // A poll that fell due meanwhile came to nothing: what died since this one was read does not wait for yet another.
        const missed = performance.now() - began >= this.#deps.limits.exchangeEveryMs
        if (!missed && !(answered && this.#questions.size > 0)) return
      }
    } finally {
      // Here and not in a later turn: a question asked in between would wait for the next poll.
      this.#running = undefined
    }
  }

  async #flight(): Promise<boolean> {
    const { limits, counters, take } = this.#deps
    const asked = [...this.#questions.keys()].slice(0, limits.maxAdmissionsPerExchange)
    const gaps = counters.busGaps
    try {
      const answer = await this.#ask(asked)
      this.#gapsTold = gaps
      await take(answer)
      // In another life of the database other credentials are dead: all that it keeps, once.
      const isAnother = answer.life > this.#life
      if (isAnother) this.#life = answer.life
      this.#cursorMs = isAnother ? 0 : Math.max(this.#cursorMs, answer.revocationsCursorMs)
      this.#cursorXact = isAnother ? 0 : Math.max(this.#cursorXact, answer.revocationsCursorXact)
      counters.exchanges++
      this.#answeredAt = performance.now()
      this.#set(true)
      this.#answer(asked, answer.profiles)
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

  #answer(keys: readonly string[], profiles: readonly svc.v1.IDeviceProfile[]): void {
    const replaced = new Set(profiles.flatMap((one) => (one.replaced ? [one.deviceId ?? ''] : [])))
    for (const key of keys) {
      const question = this.#questions.get(key)
      question?.resolve(replaced.has(question.about.deviceId ?? '') ? 'replaced' : 'told')
      this.#questions.delete(key)
    }
  }

  #fail(keys: readonly string[], error: Error): void {
    for (const key of keys) {
      this.#questions.get(key)?.reject(error)
      this.#questions.delete(key)
    }
  }

  #ask(asked: readonly string[]): Promise<svc.v1.ExchangeAnswer> {
    const { node, version, limits, counters, connections, busAway } = this.#deps
    const request = {
      node,
      version,
      connections: connections(),
      revocationsSinceMs: this.#cursorMs,
      revocationsSinceXact: this.#cursorXact,
      admissions: asked.flatMap((key) => this.#questions.get(key)?.about ?? []),
      busAway: busAway(),
      busGap: counters.busGaps > this.#gapsTold,
    }
    return this.#call.ask(request, limits.exchangeWithinMs)
  }

  #carryUp(up: svc.v1.IShardBatch[]): Promise<svc.v1.ExchangeAnswer> {
    const { node, version, limits, busAway } = this.#deps
    return this.#call.ask({ node, version, up, upAlone: true, busAway: busAway() }, limits.carryWithinMs)
  }
}

const newQuestion = (about: Question['about']): Question => {
  let resolve: (told: Told) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<Told>((done, failed) => {
    resolve = done
    reject = failed
  })
  // Who asked may have left.
  promise.catch(() => {})
  return { about, promise, resolve, reject }
}
