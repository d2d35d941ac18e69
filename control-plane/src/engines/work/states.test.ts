import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type CommandState,
  type CommandTrigger,
  commandStates,
  commandTransitions,
  isFinal,
  outcomes,
  pendingStates,
  statesBefore,
  step,
} from './states.ts'

const triggers: CommandTrigger[] = [
  'acked',
  'started',
  'cancelled',
  'withdrawn',
  'lapsed',
  'overdue',
  ...outcomes.map((outcome) => `reported:${outcome}` as const),
]
const rank: Record<CommandState, number> = {
  queued: 0,
  delivered: 1,
  running: 2,
  succeeded: 3,
  failed: 3,
  timed_out: 3,
  cancelled: 3,
  expired: 3,
  rejected: 3,
  interrupted: 3,
}
const anyState = fc.constantFrom(...commandStates)
const anyTrigger = fc.constantFrom(...triggers)

test('pending is queued, delivered and running, and nothing else', () => {
  expect(pendingStates).toEqual(['queued', 'delivered', 'running'])
})

test('a final state stays what it is, whatever happens', () => {
  fc.assert(
    fc.property(anyState, anyTrigger, (state, trigger) => {
      if (isFinal(state)) expect(step(state, trigger)).toBeUndefined()
    }),
  )
})

test('every step leads forwards', () => {
  fc.assert(
    fc.property(anyState, anyTrigger, (state, trigger) => {
      const to = step(state, trigger)
      if (to) expect(rank[to]).toBeGreaterThan(rank[state])
    }),
  )
})

test('any run of events ends in at most three steps and, with a result in it, in a final state', () => {
  fc.assert(
    fc.property(fc.array(anyTrigger, { maxLength: 30 }), (events) => {
      let state: CommandState = 'queued'
      let steps = 0
      for (const event of events) {
        const to = step(state, event)
        if (to) steps++
        state = to ?? state
      }
      expect(steps).toBeLessThanOrEqual(3)
      if (events.some((event) => event.startsWith('reported:'))) expect(isFinal(state)).toBe(true)
    }),
  )
})

test('the first end wins over every later one', () => {
  fc.assert(
    fc.property(fc.array(anyTrigger, { maxLength: 30 }), fc.array(anyTrigger), (before, after) => {
      const run = (state: CommandState, events: CommandTrigger[]) =>
        events.reduce<CommandState>((s, event) => step(s, event) ?? s, state)
      const state = run('queued', before)
      if (isFinal(state)) expect(run(state, after)).toBe(state)
    }),
  )
})

test('a device that has the command can no longer be spared it: it is asked to cancel', () => {
  expect(statesBefore('cancelled')).toEqual(['queued'])
})

test('every pending state can be ended by the server alone', () => {
  for (const state of pendingStates) {
    expect(step(state, 'lapsed') ?? step(state, 'overdue')).toBeDefined()
    expect(step(state, 'withdrawn')).toBe('cancelled')
  }
})

test('what a device reports is what the command becomes', () => {
  for (const state of pendingStates)
    for (const outcome of outcomes) expect(step(state, `reported:${outcome}`)).toBe(outcome)
})

test('the table names every state once', () => {
  expect(Object.keys(commandTransitions)).toEqual([...commandStates])
})
