import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from '../../kernel/errors.ts'
import { requireStep } from './move.ts'
import { type DeviceTrigger, deviceTransitions, type Facts, project, sameFacts, step } from './states.ts'

const anyFacts: fc.Arbitrary<Facts> = fc.record({
  lifecycle: fc.constantFrom('pending', 'active', 'quarantined', 'decommissioned'),
  connectivity: fc.constantFrom('online', 'offline'),
  activity: fc.constantFrom('none', 'updating'),
  inMaintenance: fc.boolean(),
})
const triggers = Object.keys(deviceTransitions) as DeviceTrigger[]
const anyTrigger = fc.constantFrom(...triggers)
const fresh: Facts = { lifecycle: 'active', connectivity: 'online', activity: 'none', inMaintenance: false }

test('a step reaches what its rule says and leaves the other facts alone', () => {
  fc.assert(
    fc.property(anyFacts, anyTrigger, (facts, trigger) => {
      const after = step(facts, trigger)
      if (after) expect(after).toEqual({ ...facts, ...deviceTransitions[trigger].to })
    }),
  )
})

test('being seen twice is being seen once', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const once = step(facts, 'seen')
      if (once) expect(step(once, 'seen')).toEqual(once)
    }),
  )
})

test('a heartbeat never ends maintenance, an update, quarantine or retirement', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const after = step(facts, 'seen') ?? facts
      expect(after.inMaintenance).toBe(facts.inMaintenance)
      expect(after.activity).toBe(facts.activity)
      if (facts.lifecycle === 'quarantined' || facts.lifecycle === 'decommissioned')
        expect(sameFacts(after, facts)).toBe(true)
    }),
  )
})

test('nothing but restoring brings a decommissioned device back', () => {
  fc.assert(
    fc.property(anyFacts, anyTrigger, (facts, trigger) => {
      if (facts.lifecycle !== 'decommissioned' || trigger === 'restored') return
      expect((step(facts, trigger) ?? facts).lifecycle).toBe('decommissioned')
    }),
  )
})

test('the projection puts the graver fact first', () => {
  expect(project({ ...fresh, lifecycle: 'decommissioned', activity: 'updating' })).toBe('decommissioned')
  expect(project({ ...fresh, lifecycle: 'quarantined', inMaintenance: true })).toBe('quarantined')
  expect(project({ ...fresh, lifecycle: 'pending', activity: 'updating' })).toBe('pending')
  expect(project({ ...fresh, activity: 'updating', inMaintenance: true })).toBe('updating')
  expect(project({ ...fresh, inMaintenance: true })).toBe('maintenance')
  expect(project(fresh)).toBe('online')
  expect(project({ ...fresh, connectivity: 'offline' })).toBe('offline')
})

test('an illegal step is a conflict that names both ends', () => {
  const released = () => requireStep(fresh, 'released')
  expect(released).toThrow(ApiError)
  expect(() => requireStep({ ...fresh, lifecycle: 'decommissioned' }, 'quarantined')).toThrow(
    expect.objectContaining({ code: 'CONFLICT', details: [{ from: 'decommissioned', to: 'quarantined' }] }),
  )
})
