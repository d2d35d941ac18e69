import type { AgentEvent, Asked } from '../events.ts'

/** What belongs to a line, by the names of docs/log-line.schema.json. */
export type LineFields = Asked & { commandId?: string }

/** Takes a line for people, and for programs what belongs to it. */
export type Log = (line: string, fields?: LineFields) => void

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

const request = ({ requestId }: Asked) => (requestId ? `, of request ${requestId}` : '')

/** A line for the log, or nothing: what happens every minute is not worth one. */
export function describe(event: AgentEvent): string | undefined {
  switch (event.kind) {
    case 'connected':
      return `connected in ${Math.round(event.tookMs)} ms`
    case 'disconnected':
      return `disconnected: ${event.reason} (${event.detail}); again in ${seconds(event.retryInMs)}`
    case 'refused':
      return `refused: ${event.reason} ${event.text}`
    case 'moving':
      return `asked to move: within ${seconds(event.inMs)}`
    case 'stopped':
      return `stopped: ${event.reason} ${event.text}`
    case 'command':
      return `command ${event.id} ${event.type}${event.duplicate ? ' (again)' : ''}${request(event)}`
    case 'started':
      return `command ${event.id} started`
    case 'finished':
      return `command ${event.id} ${event.outcome} after ${seconds(event.tookMs)}`
    case 'inventory':
      return `inventory: ${event.what} sent`
    case 'config':
      return `configuration ${event.version}: updates are switched ${event.autoUpdate ? 'on' : 'off'}`
    case 'update': {
      const why = event.reason && ` (${event.reason})`
      return `update of ${event.component} ${event.from} to ${event.to}: ${event.phase.toLowerCase()}${why}`
    }
    case 'disowned':
      return `command ${event.id || '?'} disowned: ${event.text}`
    case 'trouble':
      return event.text
    case 'connecting':
    case 'beat':
    case 'beat-acked':
    case 'result-acked':
      return undefined
  }
}

/** What belongs to the line of an event: which command, and which request asked for it. */
export function fieldsOf(event: AgentEvent): LineFields {
  if (event.kind !== 'command' && event.kind !== 'started' && event.kind !== 'finished') return {}
  const { id: commandId, requestId, traceId, spanId } = event
  return { commandId, requestId, traceId, spanId }
}
