import { hostname } from 'node:os'
import { type Logger, type LoggerOptions, pino } from 'pino'
import { arranged } from './arrange.ts'
import { cleanText } from './cleaned.ts'
import { logCounts } from './counts.ts'
import { type Service, securityEvents } from './events.ts'
import { notWaiting, Out, type OutOptions, type Sink } from './out.ts'
import { Repeats } from './repeats.ts'
import { securityEventOf } from './security.ts'

export interface LogOptions {
  service: Service
  /** LOG_LEVEL: what is below it is not written. Security events are, whatever it says */
  level: string
  /** which of its kind; default: this process on this machine */
  instance?: string | undefined
  /** of a control plane: `api`, `worker` or `all` */
  role?: string | undefined
  /** guards that a proof takes away: `errors_cut_down`, without which lines hold whatever they were given */
  without?: ReadonlySet<string> | undefined
  /** 2: the standard error, where the standard output is for answers */
  fd?: 1 | 2
  /** instead of either */
  sink?: Sink | undefined
  /** instead of the numbers of this process */
  lost?: OutOptions['lost'] & { repeated: number }
}

/** A process's log, and what it needs at its end. */
export interface OpenLog {
  log: Logger
  /** Writes what still waits for a reader, who gets that long. */
  flush: (withinMs: number) => void
}

const info = 30
/** All of them have the same text, and each tells something else. */
const isAuditHead = (details: unknown): boolean =>
  typeof details === 'object' && details !== null && 'auditHead' in details
const identity = <T>(value: T) => value

/** Most messages are written in the code, and have been looked at before. */
const harmless = new Set<unknown>()
const mostHarmless = 2_000

function messageText(message: unknown): unknown {
  if (typeof message !== 'string' || harmless.has(message)) return message
  const text = cleanText(message)
  if (text === message && harmless.size < mostHarmless) harmless.add(message)
  return text
}

/** What lines of a child begin with goes past the formatter of lines. */
function cleanChildren(log: Logger): void {
  const child: (this: Logger, bindings: object, options?: object) => Logger = Object.getPrototypeOf(log).child
  log.child = function cleanChild(this: Logger, bindings: object, options?: object) {
    return child.call(this, arranged(bindings as Record<string, unknown>), options)
  } as unknown as Logger['child']
}

/**
 * The log of a program: one JSON object per line of the standard output, each of the one schema (docs/log-line.schema.json), without
 * secrets, and never waiting for its reader.
 */
export function openLog(options: LogOptions): OpenLog {
  const { service, level, role, lost = logCounts.lost } = options
  const instance = options.instance ?? `${hostname()}.${process.pid}`
  const raw = options.without?.has('errors_cut_down') ?? false
  const out = new Out(options.sink ?? notWaiting(options.fd ?? 1), {
    lost,
    resumed: (lines) => always.warn({ event: 'log.lost', lines }, 'lines are missing here: nobody read them'),
  })
  const repeats = new Repeats((text, leftOut, event) => {
    lost.repeated += leftOut
    if (event) always.warn({ event, security: true, leftOut }, text)
    else
      always.warn(
        { event: 'log.repeated', text, leftOut },
        'the same was said more often than is written down',
      )
  })
  const admits = ([details, message]: readonly unknown[]): boolean => {
    const event = securityEventOf(details)
    if ((event && securityEvents[event] === 'each') || isAuditHead(details)) return true
    const text = message ?? details
    return typeof text !== 'string' || repeats.admits(text, event)
  }
  const settings: LoggerOptions = {
    level,
    base: { service, instance, pid: process.pid, ...(role && { role }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), ...(!raw && { log: arranged }) },
    // `arranged` has seen to errors.
    serializers: { err: identity, ...(!raw && { msg: messageText }) },
    hooks: {
      logMethod(args, method, number) {
        if (number < info || admits(args)) method.apply(this, args)
      },
    },
  }
  const log = pino(settings, { write: (line) => out.write(line) })
  if (!raw) cleanChildren(log)
  // What tells of lines that were left out is no line of their level.
  const always = log.child({}, { level: 'info' })
  return {
    log,
    flush: (withinMs) => {
      repeats.close()
      out.flush(withinMs)
    },
  }
}
