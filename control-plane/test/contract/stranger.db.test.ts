import { describe, expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { call, listsOfRefs, refsOf, table } from './world/calls.ts'
import type { Caller } from './world/callers.ts'
import { foreignIn, withoutOwners } from './world/marks.ts'
import { changedSince, prints } from './world/prints.ts'
import { type Reference, references } from './world/references.ts'
import { makeWorld, type Kind, type Things } from './world/things.ts'

const world = await makeWorld(await testApp())
const { own } = world.places
const [mine, theirs, nothing] = [
  await world.things('own'),
  await world.things('foreign'),
  await world.things('absent'),
]
const [next, gone] = [await world.things('sibling'), await world.things('deleted')]

/** Whoever asks sees all of `own` and nothing of the others. */
const callers: Record<string, Caller> = {
  'a member of one organization': { person: await world.by.own.people.orgMember(own) },
  'a partner’s user of selected organizations': {
    person: await world.by.first.people.partnerMember(own.partnerId, [own.orgId]),
  },
}
const admin: Caller = { person: await world.by.first.people.partnerAdmin(own.partnerId) }

/** To the platform's administrator nothing is foreign, and everybody else is told 403: the matrix says so. */
const tenants = table.filter(({ route }) => route.can !== 'platform')
/** Who is limited to some organizations is refused before anything is looked up where full access is demanded. */
const askers = (fullAccess: boolean) =>
  Object.values(fullAccess ? { member: callers['a member of one organization'] } : callers) as Caller[]

interface Named {
  name: string
  key: string
  kind: Kind
  fullAccess: boolean
  /** what the request names besides must be of the same organization */
  several: boolean
  more?: Reference
}

/** Every id of a path, body or query that is no list's filter, one at a time. */
const ids: Named[] = tenants.flatMap(({ name, sample, route }) => {
  const inPath = Object.entries(sample.params ?? {})
  // What is in a list is told of by itself: below.
  const listed = new Set(listsOfRefs(sample.body).map(([key]) => key))
  const usual = [...inPath, ...refsOf(sample.body).filter(([key]) => !listed.has(key))]
  const common = { name, fullAccess: route.fullAccess === true }
  return [
    ...usual.map(([key, kind]) => ({
      ...common,
      key,
      kind,
      several: usual.length > 1 && key !== sample.loose,
    })),
    ...(references[name] ?? []).map((more) => {
      const others = inPath.length + Math.max(refsOf(more.body).length, 1)
      return { ...common, key: more.key, kind: more.kind, several: others > 1 && !more.loose, more }
    }),
  ]
})
const lists = tenants.filter(({ sample }) => sample.lists !== undefined)

/** Calls with one id swapped. */
function ask({ name, kind, key, more }: Named, caller: Caller, id: string, things: Things = mine) {
  const body = more?.body && { body: more.body }
  const query = more && !more.body ? { query: { [key]: id } } : { swap: { [kind]: id } }
  return call(world, name, { caller, things, ...body, ...query })
}
/** Only the id tells them apart, where it is told at all. */
const without = (text: string, id: string) => text.replaceAll(id, 'id')

/** `clientId` is what somebody else calls us. */
const isId = (key: string) => /(^id|Ids?)$/.test(key) && key !== 'clientId'
const keysOf = (schema: unknown) => Object.keys((schema as { shape?: object } | undefined)?.shape ?? {})

test('each parameter of a path and each id of a body or query is known to name something', () => {
  for (const { name, route, sample } of table) {
    const named = Object.keys({ ...sample.params, ...sample.fixed })
    expect(named.toSorted()).toEqual(Object.keys(route.params).toSorted())
    const more = (references[name] ?? []).filter(({ body }) => body).map(({ key }) => key)
    const known = new Set([...refsOf(sample.body).map(([key]) => key), ...more])
    expect([name, [...known].toSorted()]).toEqual([name, keysOf(route.body).filter(isId).toSorted()])
    expect([name, Object.keys(sample.filters ?? {})]).toEqual([name, keysOf(route.query).filter(isId)])
    if (!sample.lists && sample.filters)
      expect((references[name] ?? []).map(({ key }) => key)).toEqual(
        expect.arrayContaining(Object.keys(sample.filters)),
      )
  }
  expect(ids.length).toBeGreaterThan(40)
})

test.each(ids)('$name: a foreign $key is as one that does not exist', async (named) => {
  const { kind, fullAccess } = named
  const before = await prints(world)
  for (const caller of [...askers(fullAccess), admin]) {
    const absent = await ask(named, caller, nothing[kind])
    const foreign = await ask(named, caller, theirs[kind])
    expect([foreign.status, foreign.json.error.code]).toEqual([404, 'NOT_FOUND'])
    expect(without(foreign.text, theirs[kind])).toBe(without(absent.text, nothing[kind]))
    expect(absent.status).toBe(404)
    expect(foreignIn(foreign.text, ['own', 'first'], theirs[kind])).toEqual([])
  }
  expect(changedSince(before, await prints(world))).toEqual([])
})

test.each(ids)(
  '$name: a $key of another organization of the same partner is as one that does not exist',
  async (named) => {
    const { kind, fullAccess } = named
    const before = await prints(world)
    for (const caller of askers(fullAccess)) {
      const absent = await ask(named, caller, nothing[kind])
      const reply = await ask(named, caller, next[kind])
      expect([reply.status, without(reply.text, next[kind])]).toEqual([
        404,
        without(absent.text, nothing[kind]),
      ])
    }
    expect(changedSince(before, await prints(world))).toEqual([])
  },
)

test.each(ids)(
  '$name: ids that are the caller’s, but not of each other, do not fit ($key)',
  async (named) => {
    const reply = await ask(named, admin, next[named.kind])
    // What may be seen and does not fit is 400 where it may be left out.
    const unfit = named.more ? [400, 404] : [404]
    expect(unfit.includes(reply.status)).toBe(named.several)
  },
)

const extra = ids.filter(({ more }) => more)

test.each(extra)('$name: with a $key that fits it succeeds', async (named) => {
  const things = await world.things('own')
  const reply = await ask(named, admin, things[named.kind], things)
  expect(Math.floor(reply.status / 100)).toBe(2)
})

test.each(extra.filter(({ more }) => Array.isArray(more?.body?.[more.key])))(
  '$name: one foreign, absent or deleted id among good ones of $key is named, and nothing happens',
  async (named) => {
    const { name, key, kind, more } = named
    const before = await prints(world)
    for (const others of [theirs, nothing, ...(kind === 'organization' ? [gone] : [])]) {
      const body = { ...more?.body, [key]: [mine[kind], others[kind]] }
      const reply = await call(world, name, { caller: admin, things: mine, body })
      expect([reply.status, reply.json.error.code]).toEqual([404, 'NOT_FOUND'])
      expect(reply.text).toContain(others[kind])
      expect(reply.text).not.toContain(mine[kind])
    }
    expect(changedSince(before, await prints(world))).toEqual([])
  },
)

test.each(ids)('$name: a malformed $key is 400', async (named) => {
  const reply = await ask(named, admin, "1' or '1'='1")
  expect([reply.status, reply.json.error.code]).toEqual([400, 'VALIDATION_ERROR'])
  const fields = reply.json.error.details.map(({ field }: { field: string }) => field)
  expect(fields.map((field: string) => field.replace(/\W?0\W?$/, ''))).toEqual([named.key])
})

/** Every list of ids in a body: what is foreign in it is told of that item alone (choices §Foreign and absent). */
const many = tenants.flatMap(({ name, sample }) =>
  listsOfRefs(sample.body).map(([key, kind]) => ({ name, key, kind })),
)

test.each(many)(
  '$name: foreign ids among $key are as ones that do not exist',
  async ({ name, key, kind }) => {
    const member: Caller = { person: await world.by.own.people.orgMember(own) }
    const mixed = async (other: Things) => {
      const ids = [mine[kind], other[kind]]
      const reply = await call(world, name, { caller: member, things: mine, body: { [key]: ids } })
      return [reply.status, reply.text.replaceAll(other[kind], 'other')]
    }
    const absent = await mixed(nothing)
    expect(absent).toEqual([200, expect.stringContaining('NOT_FOUND')])
    for (const other of [theirs, next]) expect(await mixed(other)).toEqual(absent)
  },
)

/** The rows of a list, whatever the envelope calls them. */
const rowsOf = (json: Record<string, unknown>): { id: string }[] =>
  Object.values(json).find(Array.isArray) as { id: string }[]
const every = { limit: '500' }
/** Of an answer to somebody of `own`: names and ids of anybody else. */
const shownOf = (text: string) => foreignIn(withoutOwners(text, 'first'), ['own'])

const { foreign } = world.places
const other: Caller = { person: await world.by.second.people.partnerAdmin(foreign.partnerId) }
// Of each kind there are two.
await world.by.foreign.make.site(await world.by.foreign.make.org(foreign.partnerId))
await world.things('foreign')
await world.things('own')

/** The cursor of the second page. */
async function cursorOf(name: string, caller: Caller, things: Things): Promise<string> {
  const first = await call(world, name, { caller, things, query: { limit: '1' } })
  const cursor = first.json.nextCursor ?? first.json.pagination?.cursor
  if (typeof cursor !== 'string') throw new Error(`${name} has no second page: ${first.text}`)
  return cursor
}
const cursors = await Promise.all(
  lists.map(async ({ name }) => ({
    list: name,
    own: await cursorOf(name, admin, mine),
    others: await cursorOf(name, other, theirs),
  })),
)

describe.each(lists)('$name', ({ name, sample }) => {
  const kind = sample.lists as Kind
  const asked = (caller: Caller, query: Record<string, string> = {}, things: Things = mine) =>
    call(world, name, { caller, things, query: { ...every, ...query } })

  test('shows what is the caller’s and no row, name or id of anybody else', async () => {
    for (const caller of Object.values(callers)) {
      const reply = await asked(caller)
      expect(rowsOf(reply.json).map(({ id }) => id)).toContain(mine[kind])
      expect(shownOf(reply.text)).toEqual([])
    }
  })

  test.each(Object.entries(sample.filters ?? {}))(
    'filter %s of a foreign, deleted or absent %s leaves nothing',
    async (key, filtered) => {
      for (const caller of Object.values(callers)) {
        expect(rowsOf((await asked(caller, { [key]: mine[filtered] })).json).length).toBeGreaterThan(0)
        for (const others of [theirs, next, gone, nothing]) {
          const reply = await asked(caller, { [key]: others[filtered] })
          expect([reply.status, rowsOf(reply.json)]).toEqual([200, []])
        }
      }
    },
  )

  test('a cursor made for somebody else is refused, also to a colleague', async () => {
    const { others, own: ofAdmin } = cursors.find(({ list }) => list === name) ?? { others: '', own: '' }
    for (const caller of Object.values(callers)) {
      for (const cursor of [others, ofAdmin]) {
        const reply = await asked(caller, { cursor })
        expect([reply.status, reply.json.error?.code]).toEqual([400, 'VALIDATION_ERROR'])
        expect(foreignIn(reply.text, [])).toEqual([])
      }
    }
  })

  test('a cursor goes with its filters, whatever the size of the page', async () => {
    const cursor = cursors.find(({ list }) => list === name)?.own ?? ''
    expect((await asked(admin, { cursor })).status).toBe(200)
    for (const [key, filtered] of Object.entries(sample.filters ?? {}))
      expect((await asked(admin, { cursor, [key]: mine[filtered] })).status).toBe(400)
  })

  test('a cursor of another list is refused, the caller’s own and anybody else’s', async () => {
    for (const { list, own: ofOwn, others } of cursors.filter((each) => each.list !== name)) {
      for (const cursor of [ofOwn, others]) {
        const reply = await asked(admin, { cursor })
        expect([list, reply.status, reply.json.error?.code]).toEqual([list, 400, 'VALIDATION_ERROR'])
        expect(foreignIn(reply.text, [])).toEqual([])
      }
    }
  })
})
