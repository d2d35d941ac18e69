import { inLog, noTracing, readTraceparent, type Span, type Trace, type Tracing } from '@svc/proto/trace'
import { noOffers, type OfferTally } from './offers.ts'

/** Where lines about commands go. */
export interface TrailLog {
  info(details: object, message: string): void
  debug(details: object, message: string): void
}

/** Which command, and whose. */
export interface Trailed {
  id: string
  deviceId: string
  orgId: string
  type: string
  traceparent: string | null
  requestId: string | null
}

/** The trace of the request that asked for a command, as its row keeps it; undefined: none did. */
export function traceOfCommand({
  traceparent,
  requestId,
}: Pick<Trailed, 'traceparent' | 'requestId'>): Trace | undefined {
  const trace = readTraceparent(traceparent)
  return trace && { ...trace, ...(requestId !== null && { requestId }) }
}

/** Tells what becomes of commands: in the log, at `info` where somebody wants to see the trace, and as spans where they are exported. */
export interface Trail {
  /** how many were offered, by whoever offers with this */
  readonly offers: OfferTally
  /** It is being offered. The span's trace goes with it; it is ended when it is known whether a gateway heard. Undefined: no trace */
  offer(command: Trailed, attempt: number): Span | undefined
  /** What a device said of it is committed. @param via the gateway's span, if that belongs to the same trace */
  reported(command: Trailed, said: string, became: string, via: Trace | undefined): void
}

export function trailOf(tracing: Tracing = noTracing, log?: TrailLog): Trail {
  const tell = (
    trace: Trace,
    event: string,
    { id, deviceId, orgId, type }: Trailed,
    more: object,
    message: string,
  ) => {
    const line = { event, ...inLog(trace), deviceId, orgId, commandId: id, type, ...more }
    if (trace.sampled) log?.info(line, message)
    else log?.debug(line, message)
  }
  const attributesOf = ({ id, deviceId, type }: Trailed) => ({
    'svc.command_id': id,
    'svc.device_id': deviceId,
    'svc.command_type': type,
  })
  return {
    offers: noOffers(),
    offer: (command, attempt) => {
      const parent = traceOfCommand(command)
      if (!parent) return undefined
      const span = tracing.start('command dispatch', 'producer', {
        parent,
        attributes: attributesOf(command),
      })
      return {
        trace: span.trace,
        end: (attributes, failed) => {
          span.end(attributes, failed)
          tell(
            span.trace,
            'command.offered',
            command,
            { attempt, heard: failed === undefined },
            'a command is offered',
          )
        },
      }
    },
    reported: (command, said, became, via) => {
      const own = traceOfCommand(command)
      if (!own) return
      // What came up is believed as far as the row agrees.
      const parent = via?.traceId === own.traceId ? { ...own, spanId: via.spanId } : own
      const span = tracing.start(`command ${said}`, 'consumer', { parent, attributes: attributesOf(command) })
      span.end({ 'svc.became': became })
      const event = said === 'result' ? 'command.finished' : 'command.reported'
      tell(span.trace, event, command, { said, became }, 'a device reports on a command')
    },
  }
}
