// Compiled, never run: each line marked as an error must stay one, or a mistake in a declaration would reach production.
import { z } from 'zod'
import { list, route } from './route.ts'

const Thing = z.object({ id: z.uuid(), name: z.string(), createdAt: z.date() })
const NewThing = z.strictObject({ name: z.string() })
const thing = { id: 'x', name: 'y', createdAt: new Date() }

// Right: parameters, query, body, what `prepare` hands over and what is answered all have their types.
route('POST /things/:id/parts/:partId', {
  summary: 'Make a part',
  can: 'devices:write',
  audit: 'thing.make',
  query: z.strictObject({ dry: z.stringbool().optional() }),
  body: NewThing,
  returns: Thing,
  status: 201,
  prepare: async ({ body }) => body.name.length,
  run: ({ params, query, body }, length) => {
    const text: [string, string, string, boolean | undefined, number] = [
      params.id,
      params.partId,
      body.name,
      query.dry,
      length,
    ]
    return { ...thing, name: text[0] }
  },
})
route('GET /things/:id', { summary: 'One', can: 'public', returns: Thing, run: async () => undefined })
route('DELETE /things/:id', {
  summary: 'None',
  can: 'signed-in',
  audit: { none: 'nothing changes' },
  run: () => undefined,
})
route('GET /things/:id/wait', {
  summary: 'Wait',
  can: 'devices:read',
  returns: Thing,
  run: async () => ({ handle: 1 }),
  answer: async (_ctx, { handle }) => ({ ...thing, name: handle.toFixed() }),
})
list('GET /things', {
  summary: 'All',
  can: 'devices:read',
  item: Thing,
  newestBy: 'createdAt',
  run: async () => [thing],
})

// @ts-expect-error nobody said who may call
route('GET /things', { summary: 'All', returns: Thing, run: () => thing })

route('GET /things', {
  summary: 'All',
  // @ts-expect-error there is no such permission
  can: 'devices:raed',
  returns: Thing,
  run: () => thing,
})

// @ts-expect-error a write says what the audit log says of it, or why it says nothing
route('POST /things', { summary: 'New', can: 'devices:write', returns: Thing, run: () => thing })

route('POST /things', {
  summary: 'New',
  can: 'devices:write',
  // @ts-expect-error silence in the audit log needs a reason
  audit: false,
  returns: Thing,
  run: () => thing,
})

route('GET /things/:id', {
  summary: 'One',
  can: 'public',
  returns: Thing,
  // @ts-expect-error the path has no such parameter
  run: ({ params }) => ({ ...thing, name: params.ID }),
})

route('GET /things/:id', {
  summary: 'One',
  can: 'public',
  // @ts-expect-error the path has no such parameter to describe
  params: { key: z.string() },
  returns: Thing,
  run: () => thing,
})

// @ts-expect-error the name is missing in what is answered
route('GET /things/:id', {
  summary: 'One',
  can: 'public',
  returns: Thing,
  run: () => ({ id: 'x', createdAt: new Date() }),
})

// @ts-expect-error nothing was declared to be answered
route('GET /things/:id', {
  summary: 'One',
  can: 'public',
  run: () => thing,
})

// @ts-expect-error no such method
route('FETCH /things', { summary: 'All', can: 'public', returns: Thing, run: () => thing })

route('GET /things', {
  summary: 'All',
  can: 'public',
  // @ts-expect-error there is no such limit
  limit: 'nothing',
  returns: Thing,
  run: () => thing,
})

route('PUT /things', {
  summary: 'Put',
  can: 'public',
  audit: 'thing.put',
  body: NewThing,
  // @ts-expect-error the body has no such field
  run: ({ body }) => void body.title,
})

route('GET /wait', {
  summary: 'Wait',
  can: 'public',
  returns: Thing,
  run: () => 1,
  // @ts-expect-error what `answer` gives has no name
  answer: async () => ({ id: 'x' }),
})

list('GET /things', {
  summary: 'All',
  can: 'devices:read',
  item: Thing,
  // @ts-expect-error the items have no such field to order by
  newestBy: 'changedAt',
  run: async () => [thing],
})

list(
  // @ts-expect-error only reading endpoints list
  'POST /things',
  { summary: 'All', can: 'devices:read', item: Thing, newestBy: 'createdAt', run: async () => [thing] },
)

list('GET /things', {
  summary: 'All',
  can: 'devices:read',
  item: Thing,
  newestBy: 'createdAt',
  // @ts-expect-error an item lacks its name
  run: async () => [{ id: 'x', createdAt: new Date() }],
})
