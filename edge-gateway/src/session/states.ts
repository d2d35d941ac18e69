import type { CloseReason } from '@svc/proto'

/**
 * The life of a connection. `live` and `draining` hold a claim on the device, taken at `epoch`; nothing else does.
 */
export type State =
  | { kind: 'opening' }
  | { kind: 'admitting' }
  | { kind: 'live'; epoch: number }
  | { kind: 'draining'; epoch: number }
  | { kind: 'gone' }

export type Event =
  /** an acceptable Hello came */
  | { kind: 'hello' }
  /** the claim is taken */
  | { kind: 'admitted'; epoch: number }
  /** no: the peer is told, in words where it is still a newcomer */
  | { kind: 'refused'; reason: CloseReason }
  /** we end it */
  | { kind: 'close'; reason: CloseReason }
  /** peer or wire ended it */
  | { kind: 'lost'; reason: CloseReason }
  /** the node goes away */
  | { kind: 'drain' }

/** What is to be done, in this order. */
export type Effect =
  | { kind: 'admit' }
  | { kind: 'welcome'; epoch: number }
  | { kind: 'move' }
  | { kind: 'refuse'; reason: CloseReason }
  | { kind: 'close'; reason: CloseReason }
  /** give the claim back; each claim taken is given back once. No reason: the connection was gone before it was welcome. */
  | { kind: 'release'; epoch: number; reason: CloseReason | undefined }
  /** a newcomer left before it was anybody */
  | { kind: 'forget'; reason: CloseReason }

export interface Step {
  state: State
  effects: readonly Effect[]
}

export const opening: State = { kind: 'opening' }
const admitting: State = { kind: 'admitting' }
const gone: State = { kind: 'gone' }
const none: readonly Effect[] = []

/** The transition table. Pure; events that mean nothing in a state leave it as it is. */
export function step(state: State, event: Event): Step {
  switch (state.kind) {
    case 'opening':
      return event.kind === 'hello'
        ? { state: admitting, effects: [{ kind: 'admit' }] }
        : newcomer(state, event)
    case 'admitting':
      return event.kind === 'admitted' ? welcomed(event.epoch) : newcomer(state, event)
    case 'live':
      return event.kind === 'drain'
        ? { state: { kind: 'draining', epoch: state.epoch }, effects: [{ kind: 'move' }] }
        : resident(state, event)
    case 'draining':
      return resident(state, event)
    case 'gone':
      return late(event)
  }
}

const welcomed = (epoch: number): Step => ({
  state: { kind: 'live', epoch },
  effects: [{ kind: 'welcome', epoch }],
})

/** No claim yet, so there is none to give back. */
const newcomer = (state: State, event: Event): Step => {
  switch (event.kind) {
    case 'refused':
    case 'close':
      return {
        state: gone,
        effects: [
          { kind: 'refuse', reason: event.reason },
          { kind: 'forget', reason: event.reason },
        ],
      }
    case 'drain':
      return {
        state: gone,
        effects: [
          { kind: 'refuse', reason: 'DRAINING' },
          { kind: 'forget', reason: 'DRAINING' },
        ],
      }
    case 'lost':
      return { state: gone, effects: [{ kind: 'forget', reason: event.reason }] }
    case 'hello':
    case 'admitted':
      return { state, effects: none }
  }
}

const resident = (state: State & { epoch: number }, event: Event): Step => {
  const { epoch } = state
  switch (event.kind) {
    case 'refused':
    case 'close':
      return {
        state: gone,
        effects: [
          { kind: 'close', reason: event.reason },
          { kind: 'release', epoch, reason: event.reason },
        ],
      }
    case 'lost':
      return { state: gone, effects: [{ kind: 'release', epoch, reason: event.reason }] }
    // A second claim for one connection cannot be; should it come all the same, it is not leaked.
    case 'admitted':
      return { state, effects: event.epoch === epoch ? none : [release(event.epoch)] }
    case 'hello':
    case 'drain':
      return { state, effects: none }
  }
}

/** The peer left while its claim was being taken. */
const late = (event: Event): Step => ({
  state: gone,
  effects: event.kind === 'admitted' ? [release(event.epoch)] : none,
})

const release = (epoch: number): Effect => ({ kind: 'release', epoch, reason: undefined })
