import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Event, opening, type State, step } from './states.ts'

/** Runs the events; answers with where that led and all that was to be done. */
const run = (events: readonly Event[]) => {
  let state: State = opening
  const effects = events.flatMap((event) => {
    const next = step(state, event)
    state = next.state
    return next.effects
  })
  return { state, effects }
}

const admitted = (epoch: number): Event => ({ kind: 'admitted', epoch })
const hello: Event = { kind: 'hello' }
const lost: Event = { kind: 'lost', reason: 'PEER_CLOSED' }
const drain: Event = { kind: 'drain' }
const close = (reason: 'SUPERSEDED' | 'BACKPRESSURE'): Event => ({ kind: 'close', reason })

describe('a connection', () => {
  it('opens, is admitted, is welcome', () => {
    expect(run([hello, admitted(7)])).toEqual({
      state: { kind: 'live', epoch: 7 },
      effects: [{ kind: 'admit' }, { kind: 'welcome', epoch: 7 }],
    })
  })

  it('gives its claim back when it is closed', () => {
    expect(run([hello, admitted(7), close('SUPERSEDED')]).effects.slice(2)).toEqual([
      { kind: 'close', reason: 'SUPERSEDED' },
      { kind: 'release', epoch: 7, reason: 'SUPERSEDED' },
    ])
  })

  it('is not closed again when the wire is gone already', () => {
    expect(run([hello, admitted(7), lost]).effects.slice(2)).toEqual([
      { kind: 'release', epoch: 7, reason: 'PEER_CLOSED' },
    ])
  })

  it('gives back a claim that was taken after it had gone, and is not welcomed', () => {
    expect(run([hello, lost, admitted(7)])).toEqual({
      state: { kind: 'gone' },
      effects: [
        { kind: 'admit' },
        { kind: 'forget', reason: 'PEER_CLOSED' },
        { kind: 'release', epoch: 7, reason: undefined },
      ],
    })
  })

  it('is asked to move once, and still hears and loses things while it drains', () => {
    const { state, effects } = run([hello, admitted(7), drain, drain])
    expect(state).toEqual({ kind: 'draining', epoch: 7 })
    expect(effects.filter(({ kind }) => kind === 'move')).toHaveLength(1)
    expect(run([hello, admitted(7), drain, lost]).effects.at(-1)).toMatchObject({ kind: 'release', epoch: 7 })
  })

  it('is told no, as a newcomer, when the node drains', () => {
    for (const events of [[drain], [hello, drain]])
      expect(run(events).effects.slice(-2)).toEqual([
        { kind: 'refuse', reason: 'DRAINING' },
        { kind: 'forget', reason: 'DRAINING' },
      ])
  })

  it('is admitted only once it has said Hello', () => {
    expect(run([admitted(7)]).state).toEqual(opening)
  })
})

const reasons = fc.constantFrom('PEER_CLOSED', 'SUPERSEDED', 'BACKPRESSURE', 'DRAINING', 'UNAVAILABLE')
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  fc.constant(hello),
  fc.constant(drain),
  fc.record({ kind: fc.constant('admitted'), epoch: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constantFrom('refused', 'close', 'lost'), reason: reasons }),
) as fc.Arbitrary<Event>

describe('whatever happens in whatever order', () => {
  const histories = fc.array(anyEvent, { maxLength: 12 })

  it('nothing brings back what is gone', () => {
    fc.assert(
      fc.property(histories, histories, (before, after) => {
        const { state } = run([...before, close('BACKPRESSURE'), lost])
        let later: State = state
        for (const event of after) later = step(later, event).state
        expect(later.kind).toBe('gone')
      }),
    )
  })

  it('each claim that was taken is given back exactly once by the end', () => {
    fc.assert(
      fc.property(histories, fc.integer({ min: 0, max: 12 }), (history, at) => {
        // One claim at most is taken for a connection: where its answer comes is arbitrary.
        const others = history.filter(({ kind }) => kind !== 'admitted')
        const events = [...others.slice(0, at), admitted(9), ...others.slice(at), lost]
        const taken = run(others.slice(0, at)).state.kind !== 'opening'
        const released = run(events).effects.filter(({ kind }) => kind === 'release')
        expect(released).toHaveLength(taken ? 1 : 0)
      }),
    )
  })

  it('every end is counted once, and a peer is told of it at most once', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { effects } = run([...history, lost])
        const ends = effects.filter(
          (effect) => effect.kind === 'forget' || (effect.kind === 'release' && effect.reason),
        )
        expect(ends).toHaveLength(1)
        expect(
          effects.filter(({ kind }) => kind === 'refuse' || kind === 'close').length,
        ).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('nobody is welcome twice', () => {
    fc.assert(
      fc.property(histories, (history) => {
        expect(run(history).effects.filter(({ kind }) => kind === 'welcome').length).toBeLessThanOrEqual(1)
      }),
    )
  })
})
