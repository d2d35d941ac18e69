import { describe, expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { call, refsOf, table } from './world/calls.ts'
import type { Caller } from './world/callers.ts'
import { makeWorld, type Kind, type Things } from './world/things.ts'
import { digests } from './world/traces.ts'

const world = await makeWorld(await testApp())
const { own, sibling } = world.places
const [mine, theirs, nothing] = [
  await world.things('own'),
  await world.things('foreign'),
  await world.things('absent'),
]
const next = await world.things('sibling')

/** Whoever asks sees all of `own` and nothing of the others. */
const callers: Record<string, Caller> = {
  'a member of one organization': { person: await world.people.orgMember(own) },
  'a partner’s user of selected organizations': {
    person: await world.people.partnerMember(own.partnerId, [own.orgId]),
  },
}
const admin: Caller = { person: await world.people.partnerAdmin(own.partnerId) }

/** To the platform's administrator nothing is foreign, and everybody else is told 403: the matrix says so. */
const tenants = table.filter(({ route }) => route.can !== 'platform')
/** Who is limited to some organizations is refused before anything is looked up where full access is demanded. */
const askers = (fullAccess: boolean) =>
  Object.values(fullAccess ? { member: callers['a member of one organization'] } : callers) as Caller[]

/** Every id of a path or body, one at a time. */
const ids = tenants.flatMap(({ name, sample, route }) => {
  const inPath = Object.entries(sample.params ?? {})
  const fullAccess = route.fullAccess === true
  return [...inPath, ...refsOf(sample.body)].map(([key, kind]) => ({ name, key, kind, fullAccess }))
})
const lists = tenants.filter(({ sample }) => sample.lists !== undefined)

test('each parameter of a path and each id of a body is known to name something', () => {
  for (const { route, sample } of table) {
    const named = Object.keys({ ...sample.params, ...sample.fixed })
    expect(named.toSorted()).toEqual(Object.keys(route.params).toSorted())
    const given = Object.keys(sample.body ?? {}).filter((key) => /(^id|Ids?)$/.test(key))
    expect(refsOf(sample.body).map(([key]) => key)).toEqual(given)
  }
  expect(ids.length).toBeGreaterThan(10)
})

test.each(ids)('$name: a foreign $key is as one that does not exist', async ({ name, kind, fullAccess }) => {
  const before = await digests(world)
  for (const caller of [...askers(fullAccess), admin]) {
    const absent = await call(world, name, { caller, things: mine, swap: { [kind]: nothing[kind] } })
    const foreign = await call(world, name, { caller, things: mine, swap: { [kind]: theirs[kind] } })
    expect([foreign.status, foreign.json.error.code]).toEqual([404, 'NOT_FOUND'])
    expect(foreign.text).toBe(absent.text)
    expect(foreign.status).toBe(absent.status)
  }
  expect(await digests(world)).toEqual(before)
})

test.each(ids)(
  '$name: a $key of another organization of the same partner is as one that does not exist',
  async ({ name, kind, fullAccess }) => {
    const before = await digests(world)
    for (const caller of askers(fullAccess)) {
      const absent = await call(world, name, { caller, things: mine, swap: { [kind]: nothing[kind] } })
      const reply = await call(world, name, { caller, things: mine, swap: { [kind]: next[kind] } })
      expect([reply.status, reply.text]).toEqual([404, absent.text])
    }
    expect(await digests(world)).toEqual(before)
  },
)

test.each(ids)(
  '$name: ids that are the caller’s, but not of each other, do not fit ($key)',
  async ({ name, kind }) => {
    const several = ids.filter((id) => id.name === name).length > 1
    const reply = await call(world, name, { caller: admin, things: mine, swap: { [kind]: next[kind] } })
    expect(reply.status === 404).toBe(several)
  },
)

test.each(ids)('$name: a malformed $key is 400', async ({ name, kind, key }) => {
  const reply = await call(world, name, { caller: admin, things: mine, swap: { [kind]: "1' or '1'='1" } })
  expect([reply.status, reply.json.error.code]).toEqual([400, 'VALIDATION_ERROR'])
  expect(reply.json.error.details.map(({ field }: { field: string }) => field)).toEqual([key])
})

/** The rows of a list, whatever the envelope calls them. */
const rowsOf = (json: Record<string, unknown>): { id: string }[] =>
  Object.values(json).find(Array.isArray) as { id: string }[]
const every = { limit: '500' }

describe.each(lists)('$name', ({ name, sample }) => {
  const kind = sample.lists as Kind
  const asked = (caller: Caller, query: Record<string, string> = {}, things: Things = mine) =>
    call(world, name, { caller, things, query: { ...every, ...query } })

  test('shows what is the caller’s and no row of anybody else', async () => {
    for (const caller of Object.values(callers)) {
      const reply = await asked(caller)
      const shown = rowsOf(reply.json).map(({ id }) => id)
      expect(shown).toContain(mine[kind])
      expect(shown).not.toContain(next[kind])
      for (const id of Object.values(theirs)) expect(reply.text).not.toContain(id)
      for (const id of Object.values(next)) expect(reply.text).not.toContain(id)
      for (const id of [world.places.foreign.partnerId, sibling.orgId]) expect(reply.text).not.toContain(id)
    }
  })

  test.each(Object.entries(sample.filters ?? {}))(
    'filter %s of a foreign or absent %s leaves nothing',
    async (key, filtered) => {
      for (const caller of Object.values(callers)) {
        expect(rowsOf((await asked(caller, { [key]: mine[filtered] })).json).length).toBeGreaterThan(0)
        for (const others of [theirs, next, nothing]) {
          const reply = await asked(caller, { [key]: others[filtered] })
          expect([reply.status, rowsOf(reply.json)]).toEqual([200, []])
        }
      }
    },
  )

  test('a cursor made for somebody else shows nothing of theirs', async () => {
    const { partnerId } = world.places.foreign
    const other: Caller = { person: await world.people.partnerAdmin(partnerId) }
    await world.make.device(await world.make.site(await world.make.org(partnerId)))
    await world.things('foreign')
    const first = await call(world, name, { caller: other, things: theirs, query: { limit: '1' } })
    const cursor = first.json.nextCursor ?? first.json.pagination?.cursor
    expect(cursor).toEqual(expect.any(String))
    for (const caller of Object.values(callers)) {
      const reply = await asked(caller, { cursor })
      expect([200, 400]).toContain(reply.status)
      for (const id of Object.values(theirs)) expect(reply.text).not.toContain(id)
    }
  })
})

test('a list that takes an id as a filter says what the id names', () => {
  for (const { route, sample } of table) {
    const keys = Object.keys((route.query as { shape?: object } | undefined)?.shape ?? {})
    expect(Object.keys(sample.filters ?? {})).toEqual(keys.filter((key) => /(^id|Ids?)$/.test(key)))
  }
})
