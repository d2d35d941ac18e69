import { expect, test } from 'vitest'
import { z } from 'zod'
import { serializer } from './serialize.ts'

const Part = z.object({ name: z.string(), at: z.date().nullable() }).meta({ id: 'SerializedPart' })
const Thing = z.object({
  id: z.uuid(),
  at: z.date(),
  seen: z.date().nullable(),
  size: z.int().nullable(),
  kind: z.enum(['a', 'b']).nullable(),
  note: z.string().optional(),
  part: Part.nullable(),
  parts: z.array(Part),
  free: z.record(z.string(), z.unknown()),
})
const text = serializer(Thing)
const at = new Date('2026-11-27T10:00:00.000Z')
const id = '01a21f8a-3ea1-71ca-a52c-014e2d5cab46'
const part = { name: 'p', at }
const full = {
  id,
  at,
  seen: at,
  size: 3,
  kind: 'a',
  note: 'n',
  part,
  parts: [part],
  free: { deep: [1, { x: null }] },
}
const empty = {
  ...full,
  seen: null,
  size: null,
  kind: null,
  note: undefined,
  part: null,
  parts: [],
  free: {},
}

test.each([full, empty])('what is declared is written as JSON has it', (value) => {
  expect(JSON.parse(text(value))).toEqual(JSON.parse(JSON.stringify(value)))
})

test('what is not declared is dropped, at every depth', () => {
  const leaky = { passwordHash: 'x' }
  const value = { ...full, ...leaky, part: { ...part, ...leaky }, parts: [{ ...part, ...leaky }] }
  expect(text(value)).not.toContain('passwordHash')
})

test('a declared field that is missing is a fault, not an answer', () => {
  const { at: _at, ...without } = full
  expect(() => text(without)).toThrow('"at" is required')
})

const Event = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('seen'), at: z.date() }),
  z.object({ kind: z.literal('named'), name: z.string() }),
])

test('of several shapes the right one is written, without what it does not declare', () => {
  const write = serializer(z.object({ events: z.array(Event), last: Event.nullable() }))
  const events = [
    { kind: 'seen', at, secret: 1 },
    { kind: 'named', name: 'n', secret: 1 },
  ]
  expect(JSON.parse(write({ events, last: events[0] }))).toEqual({
    events: [
      { kind: 'seen', at: at.toISOString() },
      { kind: 'named', name: 'n' },
    ],
    last: { kind: 'seen', at: at.toISOString() },
  })
  expect(write({ events: [], last: null })).toBe('{"events":[],"last":null}')
})
