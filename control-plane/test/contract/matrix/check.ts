import type { FastifyInstance } from 'fastify'
import { routes } from '../../../src/areas/index.ts'
import type { Permission } from '../../../src/kernel/permissions.ts'
import { prepare, type Reply, sampleOf, saidBy, send, usedBy } from '../world/calls.ts'
import { type Caller, makeCaller } from '../world/callers.ts'
import type { Things, Where, World } from '../world/things.ts'
import { changedSince, prints } from '../world/prints.ts'
import { type Cell, cellsOf } from './expected.ts'
import type { MatrixRow } from './rows.ts'
import { shownBeyond } from './shown.ts'

/** The outside of the system as one run of the matrix sees it: callers and things are made once, but for what a call uses up. */
export interface Run {
  /** What of a line is not as it says, in words: a wrong answer, somebody else's name or id in it, a refusal that did something. */
  check(row: MatrixRow, app?: FastifyInstance): Promise<string[]>
  /** The first wrong answer, where the cells that most mistakes show at come first. */
  firstDifference(row: MatrixRow, app: FastifyInstance): Promise<string | undefined>
}

/** At the same time: as many as the API has connections. */
const together = 4

async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = together,
): Promise<R[]> {
  const done: R[] = []
  for (let i = 0; i < items.length; i += atOnce)
    done.push(...(await Promise.all(items.slice(i, i + atOnce).map(work))))
  return done
}

/** With so few connections one stream is all that there may be. */
const streams = new Set(routes.filter(({ stream }) => stream).map(({ method, path }) => `${method} ${path}`))

const telling = ['anonymous', 'lacking', 'just']
const tellingFirst = (a: Cell, b: Cell) =>
  Number(telling.includes(b.caller)) - Number(telling.includes(a.caller))

const isRefused = ({ expected }: Cell) => Number(expected) >= 400
const whereOf = ({ target }: Cell): Where => (target === '-' ? 'own' : target)
const nameOf = ({ row, target, caller }: Cell) => `${row.operation}, ${target}, ${caller}`

export function runOf(world: World): Run {
  const callers = new Map<string, Promise<Caller>>()
  const shared = new Map<Where, Promise<Things>>()

  function callerOf({ caller: name, row: { needs, operation } }: Cell): Promise<Caller> {
    const make = makeCaller[name]
    if (!make) throw new Error(`nobody makes a ${name}`)
    const permission = needs.includes(':') ? (needs as Permission) : undefined
    const fresh = () => make(world, permission)
    if (sampleOf(operation).endsLogin) return fresh()
    const key = /^(just|lacking)/.test(name) ? `${name} ${needs}` : name
    const caller = callers.get(key) ?? fresh()
    callers.set(key, caller)
    return caller
  }

  /** A write uses up what it is given; what is refused or only reads may share it. */
  function thingsFor(cell: Cell): Promise<Things> {
    const [where, { operation }] = [whereOf(cell), cell.row]
    const used = usedBy(sampleOf(operation))
    if (!isRefused(cell) && !operation.startsWith('GET ')) return world.things(where, used)
    const things = shared.get(where) ?? world.things(where)
    shared.set(where, things)
    return things
  }

  async function prepared(cell: Cell, query: Record<string, string> = {}) {
    const [caller, things] = await Promise.all([callerOf(cell), thingsFor(cell)])
    return { things, request: await prepare(world, cell.row.operation, { caller, things, query }) }
  }

  /** What is looked for may be on any page. */
  async function answer(cell: Cell, app: FastifyInstance): Promise<{ got: string; shown: string[] }> {
    const { lists } = sampleOf(cell.row.operation)
    const shown: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { things, request } = await prepared(cell, lists && { limit: '500', ...(cursor && { cursor }) })
      const { status, text, json }: Reply = await send(app, request)
      shown.push(...shownBeyond(cell, text, saidBy(request)))
      if (!lists || status !== 200) return { got: String(status), shown }
      if (text.includes(things[lists])) return { got: 'seen', shown }
      cursor = json.nextCursor ?? json.pagination?.cursor ?? null
    }
    return { got: 'unseen', shown }
  }

  const judged = (cell: Cell, { got, shown }: { got: string; shown: string[] }) => [
    ...(got === cell.expected ? [] : [`${nameOf(cell)}: ${got} instead of ${cell.expected}`]),
    ...(shown.length > 0 ? [`${nameOf(cell)}: shows ${shown.slice(0, 3).join(', ')}`] : []),
  ]

  /** All of them between two looks at the whole database. */
  async function refusals(cells: Cell[], app: FastifyInstance): Promise<string[]> {
    const ready = await inTurns(cells, async (cell) => ({ cell, ...(await prepared(cell)) }))
    const before = await prints(world)
    const found = await inTurns(ready, async ({ cell, request }) => {
      const { status, text } = await send(app, request)
      return judged(cell, { got: String(status), shown: shownBeyond(cell, text, saidBy(request)) })
    })
    const changed = changedSince(before, await prints(world))
    const operation = cells[0]?.row.operation
    return [
      ...found.flat(),
      ...changed.map((table) => `${operation}: somebody was refused, and ${table} changed`),
    ]
  }

  return {
    async check(row, app = world.app) {
      const [refused, rest] = [cellsOf(row).filter(isRefused), cellsOf(row).filter((it) => !isRefused(it))]
      const wrong = await refusals(refused, app)
      const atOnce = streams.has(row.operation) ? 1 : together
      const found = await inTurns(rest, async (cell) => judged(cell, await answer(cell, app)), atOnce)
      return [...wrong, ...found.flat()]
    },
    async firstDifference(row, app) {
      for (const cell of cellsOf(row).toSorted(tellingFirst)) {
        const { got } = await answer(cell, app)
        const [found] = judged(cell, { got, shown: [] })
        if (found) return found
      }
      return undefined
    },
  }
}
