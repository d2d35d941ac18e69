import type { FastifyInstance } from 'fastify'
import type { Permission } from '../../../src/kernel/permissions.ts'
import { call, sampleOf, type Reply } from '../world/calls.ts'
import { makeCaller, type Caller } from '../world/callers.ts'
import type { Things, Where, World } from '../world/things.ts'
import type { MatrixRow } from './rows.ts'

/** The outside of the system as one run of the matrix sees it: its callers are made once, unless a call ends their login. */
export interface Run {
  differences(row: MatrixRow, app?: FastifyInstance, most?: number): Promise<string[]>
}

/** A list as far as one looks for something in it: what is new may be last of what there is. */
async function listed(
  ask: (query: Record<string, string>) => Promise<Reply>,
  id: string,
): Promise<'seen' | 'unseen' | number> {
  let cursor: string | null = null
  do {
    const reply: Reply = await ask({ limit: '500', ...(cursor !== null && { cursor }) })
    if (reply.status !== 200) return reply.status
    if (reply.text.includes(id)) return 'seen'
    cursor = reply.json.nextCursor ?? reply.json.pagination?.cursor ?? null
  } while (cursor !== null)
  return 'unseen'
}

/** Those that most changes of `can` show at come first. */
const telling = ['anonymous', 'lacking', 'just']
const inOrder = ({ expected }: MatrixRow) =>
  [...expected].toSorted(([a], [b]) => Number(telling.includes(b)) - Number(telling.includes(a)))

const whereOf = ({ target }: MatrixRow): Where => (target === '-' ? 'own' : (target as Where))

export function runOf(world: World): Run {
  const known = new Map<string, Promise<Caller>>()
  const reads = new Map<string, Promise<Things>>()

  function callerOf(name: string, { needs, operation }: MatrixRow): Promise<Caller> {
    const make = makeCaller[name]
    if (!make) throw new Error(`matrix.tsv has a column ${name} that nobody makes`)
    const fresh = () => make(world, needs as Permission | undefined)
    if (sampleOf(operation).endsLogin) return fresh()
    const key = name === 'just' || name === 'lacking' ? `${name} ${needs}` : name
    const caller = known.get(key) ?? fresh()
    known.set(key, caller)
    return caller
  }

  /** A write uses up what it is given, and and each caller brings a role, so what a list of these is to show must be among the newest; another read may share it. */
  function thingsFor(row: MatrixRow): Promise<Things> {
    const where = whereOf(row)
    if (!row.operation.startsWith('GET ') || sampleOf(row.operation).lists === 'role')
      return world.things(where)
    const things = reads.get(where) ?? world.things(where)
    reads.set(where, things)
    return things
  }

  return {
    async differences(row, app, most = Number.POSITIVE_INFINITY) {
      const found: string[] = []
      for (const [name, expected] of inOrder(row)) {
        if (found.length >= most) break
        const [caller, things] = await Promise.all([callerOf(name, row), thingsFor(row)])
        const ask = (query?: Record<string, string>) =>
          call(world, row.operation, { caller, things, ...(query && { query }) }, app)
        const { lists } = sampleOf(row.operation)
        const cell = String(lists ? await listed(ask, things[lists]) : (await ask()).status)
        if (cell !== expected)
          found.push(`${row.operation}, ${row.target}, ${name}: ${cell} instead of ${expected}`)
      }
      return found
    },
  }
}
