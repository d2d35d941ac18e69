import { svc } from '@svc/proto'
import { fromWire, inLog } from '@svc/proto/trace'
import type { Context, Done } from '../behaviours/behaviour.ts'
import type { Clock, Timer } from '../clock.ts'
import type { UpBody } from '../connection/link.ts'
import type { Observe } from '../events.ts'
import type { Entry, Ledger } from '../ledger/ledger.ts'
import { Disowned } from './disowned.ts'
import { type EndedBy, execute, outcomes } from './execution.ts'
import type { KeyRing } from './key-ring.ts'
import { Lanes } from './lanes.ts'
import { authenticate, decodeBody, expired, judge, type Order, type Refusal } from './order.ts'
import { Results } from './results.ts'

/** Accepted and not yet acked by the server. Beyond this a command is not acknowledged: the server offers it again later. */
const maxOpen = 256

export interface WorkOptions {
  deviceId: string
  keys: KeyRing
  ledger: Ledger
  clock: Clock
  observe: Observe
  run: (order: Order, context: Context) => Promise<Done>
  /** False when it could not be sent now. */
  send: (body: UpBody) => boolean
  /** The server's clock, as far as it is known. */
  serverNow: () => number
  maxFrameBytes: () => number
}

/** A command between its acceptance and its result. */
type Trace = svc.v1.ITrace | null

interface Task {
  order: Order
  attempt: number
  /** said again with whatever is said of it */
  trace: Trace
  /** resolves when the ledger has it; only then is it acknowledged */
  written: Promise<void>
  abort: AbortController
  /** its lane let it in */
  begun: boolean
  startedAtMs?: number
  /** takes it out of the queue; true when it had not begun */
  withdraw: () => boolean
}

/** A device's commands: accepted once, run once, answered until the answer is committed. */
export class Work {
  readonly #options: WorkOptions
  readonly #lanes = new Lanes()
  readonly #results: Results
  readonly #disowned: Disowned
  readonly #tasks = new Map<string, Task>()
  #stopping = false
  #dead = false

  constructor(options: WorkOptions) {
    this.#options = options
    this.#results = new Results({ clock: options.clock, send: (result) => this.#sendResult(result) })
    this.#disowned = new Disowned({ clock: options.clock, send: (result) => this.#sendResult(result) })
  }

  get inFlight(): number {
    return this.#tasks.size
  }

  /** Takes up what the last run of the agent left: answers are sent again, what had not begun runs, what ran is interrupted. */
  async recover(): Promise<void> {
    for (const entry of this.#options.ledger.open()) {
      const body = entry.body && decodeBody(entry.body)
      if (entry.result) this.#results.add(svc.v1.CommandResult.decode(entry.result))
      else if (entry.state === 'started' || !body) await this.#interrupted(entry)
      else this.#take(body, entry.attempt, Promise.resolve(), null)
    }
  }

  /** A Command frame. Whatever it is, the server hears of it. */
  command(frame: svc.v1.Command.$Properties): void {
    if (this.#stopping) return
    const { keys, deviceId, ledger, observe } = this.#options
    const attempt = frame.attempt ?? 0
    const checked = authenticate(frame, keys, deviceId)
    if ('error' in checked) return this.#disown(checked.commandId, checked.error)
    const { body } = checked
    const known = ledger.find(body.commandId)
    const duplicate = known !== undefined
    observe({ kind: 'command', id: body.commandId, type: body.type, duplicate, ...asked(frame.trace) })
    if (known) return this.#again(known, attempt)
    if (this.#tasks.size + this.#results.size >= maxOpen)
      return observe({ kind: 'trouble', text: `command ${body.commandId} not taken: too many are open` })
    const written = this.#record(frame.body ?? new Uint8Array(), body, attempt)
    this.#take(body, attempt, written, frame.trace ?? null)
  }

  cancel(commandId: string): void {
    const task = this.#tasks.get(commandId)
    task?.abort.abort('cancel' satisfies EndedBy)
    if (task?.withdraw()) void this.#finish(task, cancelledBeforeStart)
  }

  acked(commandId: string): void {
    const { ledger, observe } = this.#options
    if (!this.#results.acked(commandId)) return
    observe({ kind: 'result-acked', id: commandId })
    if (ledger.find(commandId)?.state === 'finished') void this.#write({ state: 'acked', id: commandId })
  }

  connected(): void {
    for (const task of this.#tasks.values()) if (task.startedAtMs !== undefined) this.#standing(task)
    this.#results.connected()
  }

  disconnected(): void {
    this.#results.disconnected()
  }

  /** Begins nothing and takes nothing any more; resolves when what runs has ended by itself, or after `withinMs`. */
  async rest(withinMs: number): Promise<void> {
    this.#stopping = true
    await new Promise<void>((resolve) => {
      const limit = this.#options.clock.after(withinMs, resolve)
      void this.#lanes.close().then(() => {
        limit.cancel()
        resolve()
      })
    })
  }

  /** Ends what runs; what waits stays in the ledger for the next start. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#disowned.close()
    const ended = this.#lanes.close()
    for (const { begun, abort } of this.#tasks.values()) if (begun) abort.abort('stop' satisfies EndedBy)
    await ended
  }

  /** As a crash: what runs is cut off, and nothing is written or said about it. */
  kill(): void {
    this.#dead = true
    this.#results.disconnected()
    this.#disowned.close()
    void this.stop()
  }

  async #record(bytes: Uint8Array, body: svc.v1.CommandBody, attempt: number): Promise<void> {
    const { commandId: id, seq, expiresAtMs } = body
    const { ledger, observe } = this.#options
    try {
      await ledger.write({ state: 'received', id, body: bytes, attempt, seq, expiresAtMs })
    } catch (error) {
      ledger.forget(id)
      this.#tasks.delete(id)
      observe({ kind: 'trouble', text: `command ${id} not taken: ${String(error)}` })
      throw error
    }
  }

  #take(body: svc.v1.CommandBody, attempt: number, written: Promise<void>, trace: Trace): void {
    const verdict = judge(body, this.#options.serverNow())
    const id = body.commandId
    if ('outcome' in verdict) {
      void written.then(
        () => this.#answer(id, body.type, attempt, { ...refusal(verdict), trace }),
        () => {},
      )
      return
    }
    const abort = new AbortController()
    const task: Task = { order: verdict, attempt, trace, written, abort, begun: false, withdraw: () => false }
    this.#tasks.set(id, task)
    // A rejected write has been reported by #record, and the task is gone.
    void written.then(
      () => this.#accepted(task),
      () => {},
    )
  }

  #accepted(task: Task): void {
    const { send, serverNow, clock } = this.#options
    send({ commandAck: { commandId: task.order.id, attempt: task.attempt, trace: task.trace } })
    if (task.abort.signal.aborted) return void this.#finish(task, cancelledBeforeStart)
    const earlyMs = task.order.notBeforeMs - serverNow()
    if (earlyMs <= 0) return this.#enqueue(task)
    let held: Timer | undefined = clock.after(earlyMs, () => {
      held = undefined
      this.#enqueue(task)
    })
    task.withdraw = () => {
      held?.cancel()
      return held !== undefined
    }
  }

  #enqueue(task: Task): void {
    task.withdraw = this.#lanes.enter(task.order.lane, () => this.#run(task))
  }

  async #run(task: Task): Promise<void> {
    const { ledger, clock, observe, run, send, serverNow } = this.#options
    const { order, abort } = task
    task.begun = true
    if (this.#dead) return
    if (serverNow() > order.expiresAtMs) return this.#finish(task, refusal(expired(order.expiresAtMs)))
    const startedAtMs = Math.round(serverNow())
    try {
      await ledger.write({ state: 'started', id: order.id, atMs: startedAtMs })
    } catch (error) {
      return this.#finish(task, { outcome: svc.v1.Outcome.FAILED, error: `not started: ${String(error)}` })
    }
    if (abort.signal.aborted) return this.#finish(task, outcomes[abort.signal.reason as EndedBy])
    task.startedAtMs = startedAtMs
    observe({ kind: 'started', id: order.id, type: order.type, ...asked(task.trace) })
    send(progress(task, startedAtMs))
    const { outcome, error, done } = await execute(
      (signal) => run(order, { commandId: order.id, signal }),
      abort,
      order.timeoutMs,
      clock,
    )
    await this.#finish(task, { outcome, error, startedAtMs, ...fieldsOf(done) })
  }

  async #finish(task: Task, result: Partial<svc.v1.CommandResult.$Properties>): Promise<void> {
    await this.#answer(task.order.id, task.order.type, task.attempt, { ...result, trace: task.trace })
    this.#tasks.delete(task.order.id)
  }

  async #interrupted({ id, attempt, startedAtMs = 0 }: Entry): Promise<void> {
    const error = 'the agent died while it ran'
    await this.#answer(id, '', attempt, { outcome: svc.v1.Outcome.INTERRUPTED, error, startedAtMs })
  }

  /** Into the ledger first: an answer that was given once is given the same way always. */
  async #answer(
    id: string,
    type: string,
    attempt: number,
    fields: Partial<svc.v1.CommandResult.$Properties>,
  ) {
    if (this.#dead) return
    const { observe, serverNow, maxFrameBytes } = this.#options
    const finishedAtMs = Math.round(serverNow())
    const result = fitting({ ...fields, commandId: id, attempt, finishedAtMs }, maxFrameBytes())
    await this.#write({ state: 'finished', id, result: svc.v1.CommandResult.encode(result).finish() })
    const outcome = svc.v1.Outcome[result.outcome ?? 0] ?? ''
    observe({
      kind: 'finished',
      id,
      type,
      outcome,
      tookMs: finishedAtMs - (result.startedAtMs ?? finishedAtMs),
      ...asked(result.trace),
    })
    this.#results.add(result)
  }

  /** Of a change whose loss costs a repetition on the wire and no more. */
  async #write(change: Parameters<Ledger['write']>[0]): Promise<void> {
    try {
      await this.#options.ledger.write(change)
    } catch (error) {
      this.#options.observe({ kind: 'trouble', text: `ledger: ${String(error)}` })
    }
  }

  /** Offered again: the same acknowledgement or the same answer, and nothing else. */
  #again(entry: Entry, attempt: number): void {
    const task = this.#tasks.get(entry.id)
    if (entry.result) {
      const result = svc.v1.CommandResult.decode(entry.result)
      result.attempt = attempt
      return this.#results.add(result)
    }
    if (!task) return
    task.attempt = attempt
    void task.written.then(
      () => this.#standing(task),
      () => {},
    )
  }

  /** How far a command is, for a server that lost track: a new connection does not know what the old one said. */
  #standing(task: Task): void {
    const { order, attempt, trace, startedAtMs } = task
    this.#options.send({ commandAck: { commandId: order.id, attempt, trace } })
    if (startedAtMs !== undefined) this.#options.send(progress(task, startedAtMs))
  }

  /**
   * Not signed for this device. Neither the ledger nor the server learns anything of the command that it names: a forged frame must
   * not be able to spoil the real one.
   */
  #disown(id: string, text: string): void {
    this.#options.observe({ kind: 'disowned', id, text })
    this.#disowned.add(id, text)
  }

  #sendResult(commandResult: svc.v1.CommandResult.$Properties): boolean {
    return this.#options.send({ commandResult })
  }
}

const asked = (trace: Trace | undefined) => inLog(fromWire(trace))

const cancelledBeforeStart = { outcome: svc.v1.Outcome.CANCELLED, error: 'cancelled before it started' }

const refusal = ({ outcome, error }: Refusal) => ({ outcome: svc.v1.Outcome[outcome], error })

const progress = ({ order, attempt, trace }: Task, startedAtMs: number): UpBody => ({
  commandProgress: { commandId: order.id, attempt, startedAtMs, trace },
})

const fieldsOf = ({ exitCode, stdout, stderr, result }: Done) => ({
  ...(exitCode === undefined ? {} : { exitCode }),
  ...(stdout ? { stdout } : {}),
  ...(stderr ? { stderr } : {}),
  ...(result === undefined ? {} : { result: Buffer.from(JSON.stringify(result)) }),
})

/** A result larger than a frame would cost the connection and be sent again for ever. */
function fitting<T extends svc.v1.CommandResult.$Properties>(result: T, limit: number): T {
  const envelopeBytes = 64
  const size = svc.v1.CommandResult.encode(result).finish().length
  if (size + envelopeBytes <= limit) return result
  const error = `the result has ${size} bytes, more than a frame of ${limit} takes`
  return {
    ...result,
    outcome: svc.v1.Outcome.FAILED,
    error,
    result: new Uint8Array(),
    stdout: null,
    stderr: null,
  }
}
