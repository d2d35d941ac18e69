import type { CloseReason, CommandTypeName, svc } from '@svc/proto'

export type UpdatePhaseName = keyof typeof svc.v1.UpdatePhase

/** Which request asked for a command, and its trace, as far as the server said so and the agent has kept it. */
export interface Asked {
  requestId?: string | undefined
  traceId?: string | undefined
  spanId?: string | undefined
}

/** What an agent does, for logs and statistics. Durations in milliseconds. */
export type AgentEvent =
  | { kind: 'connecting' }
  | { kind: 'connected'; tookMs: number; epoch: number }
  | { kind: 'disconnected'; reason: CloseReason; detail: string; retryInMs: number }
  | { kind: 'refused'; reason: CloseReason; text: string }
  | { kind: 'moving'; inMs: number }
  | { kind: 'stopped'; reason: CloseReason; text: string }
  | { kind: 'beat' }
  | { kind: 'beat-acked'; tookMs: number }
  | ({ kind: 'command'; id: string; type: string; duplicate: boolean } & Asked)
  | ({ kind: 'started'; id: string; type: CommandTypeName } & Asked)
  | ({ kind: 'finished'; id: string; type: string; outcome: string; tookMs: number } & Asked)
  | { kind: 'result-acked'; id: string }
  /** a frame was not signed for this device; `id` is what it claimed to be about, perhaps nothing */
  | { kind: 'disowned'; id: string; text: string }
  | { kind: 'inventory'; what: string }
  | { kind: 'config'; version: number; autoUpdate: boolean }
  /** said, not only reached */
  | { kind: 'update'; component: string; from: string; to: string; phase: UpdatePhaseName; reason: string }
  | { kind: 'trouble'; text: string }

export type Observe = (event: AgentEvent) => void
