import type { svc } from '@svc/proto'
import { fromWire, inLog, toWire, type Trace, type Tracing } from '@svc/proto/trace'
import type { Logger } from 'pino'
import type { Session } from './session.ts'

/** Commands that somebody wants to see and whose results are waited for; beyond that the oldest are forgotten. */
const most = 1_000
const sampled = 1

/** What is said of a command on its way up: of whatever kind, and with what the agent says of its trace. */
interface Said {
  commandId?: string | null
  trace?: svc.v1.ITrace | null
}

export interface TrailDeps {
  log: Logger
  tracing: Tracing
}

/** Tells of commands that go down and of what comes up about them: in the log, and as spans where they are exported. */
export class Trail {
  readonly #log: Logger
  readonly #tracing: Tracing
  /** by command: the spans of frames that went down, for those that are seen */
  readonly #down = new Map<string, Trace>()

  constructor({ log, tracing }: TrailDeps) {
    this.#log = log
    this.#tracing = tracing
  }

  /** A frame goes down; `send` does it. Whose trace nobody wants to see costs a look. */
  down(session: Session, { commandId, trace: wire }: svc.v1.IDeliver, send: () => void): void {
    const parent = wire && this.#wanted(wire) ? fromWire(wire) : undefined
    if (!parent || !commandId) return send()
    const attributes = { 'svc.device_id': session.deviceId, 'svc.command_id': commandId }
    const span = this.#tracing.start('gateway frame', 'producer', { parent, attributes })
    send()
    span.end()
    if (span.trace.sampled) this.#remember(commandId, span.trace)
    this.#tell(span.trace, session, commandId, 'command.frame', 'a command goes to its device')
  }

  /** What an agent says of a command comes up. @returns what goes on with it */
  up(session: Session, { commandId, trace: said }: Said, kind: string): svc.v1.ITrace | null {
    const known = this.#down.get(commandId ?? '')
    const parent = known ?? (said && this.#wanted(said) ? unseen(fromWire(said)) : undefined)
    if (!parent || !commandId) return null
    const attributes = { 'svc.device_id': session.deviceId, 'svc.command_id': commandId }
    const span = this.#tracing.start(`gateway ${kind}`, 'consumer', { parent, attributes })
    span.end()
    if (kind === 'result') this.#down.delete(commandId)
    this.#tell(span.trace, session, commandId, 'command.reported', `a device says ${kind}`)
    return toWire(span.trace)
  }

  #wanted({ flags }: svc.v1.ITrace): boolean {
    return ((flags ?? 0) & sampled) === sampled || this.#log.isLevelEnabled('debug')
  }

  #remember(commandId: string, trace: Trace): void {
    this.#down.set(commandId, trace)
    const [oldest] = this.#down.keys()
    if (this.#down.size > most && oldest !== undefined) this.#down.delete(oldest)
  }

  #tell(trace: Trace, { deviceId }: Session, commandId: string, event: string, message: string): void {
    const line = { event, ...inLog(trace), deviceId, commandId }
    if (trace.sampled) this.#log.info(line, message)
    else this.#log.debug(line, message)
  }
}

/** An agent's word may name a trace; that somebody wants to see it is not the agent's to say. */
const unseen = (trace: Trace | undefined): Trace | undefined => trace && { ...trace, sampled: false }
