// Compiled, never run: each line marked as an error must stay one, or a list could show what its schema does not name.
import { z } from 'zod'
import { route } from './route.ts'
import { rowsAsJson } from './rows-as-json.ts'
import type { Db } from './tenancy.ts'

const Thing = z.object({ id: z.uuid(), at: z.date().nullable(), part: z.object({ n: z.int() }).nullable() })
const Other = z.object({ id: z.uuid(), name: z.string() })
const Things = z.object({ things: z.array(Thing), limit: z.int() })
declare const db: Db
const { sql } = db
const source = { place: sql`t.at`, id: sql`t.id`, from: sql`from things t` }
const part = { when: sql`t.n is not null`, columns: { n: sql`t.n` } }
const columns = { id: sql`t.id`, at: sql`t.at` }
const things = rowsAsJson(Thing)(db, { ...columns, part }, source)
const others = rowsAsJson(Other)(db, { id: sql`t.id`, name: sql`t.name` }, source)

// @ts-expect-error a field that no column delivers
rowsAsJson(Thing)(db, columns, source)
// @ts-expect-error a column that the schema does not name
rowsAsJson(Other)(db, { id: sql`t.id`, name: sql`t.name`, secret: sql`t.secret` }, source)
// @ts-expect-error an object is written field by field
rowsAsJson(Thing)(db, { ...columns, part: sql`t.part` }, source)

const said = { summary: 'All', can: 'devices:read', returns: Things } as const
const page = async () => ({ things: (await things.page(db, 10)).rows, limit: 10 })
const otherPage = async () => ({ things: (await others.page(db, 10)).rows, limit: 10 })
const textPage = async () => ({ things: '[]', limit: 10 })

route('GET /things', { ...said, run: page })
// @ts-expect-error rows of another schema
route('GET /things', { ...said, run: otherPage })
// @ts-expect-error text that anybody may have made
route('GET /things', { ...said, run: textPage })
