import type { AgentEvent } from '../events.ts'

export type Log = (line: string) => void

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

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
      return `command ${event.id} ${event.type}${event.duplicate ? ' (again)' : ''}`
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
    case 'trouble':
      return event.text
    case 'connecting':
    case 'beat':
    case 'beat-acked':
    case 'result-acked':
      return undefined
  }
}
