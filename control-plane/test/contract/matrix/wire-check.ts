import type { Permission } from '../../../src/kernel/permissions.ts'
import { prepare, type Prepared, table } from '../world/calls.ts'
import { type Caller, makeCaller } from '../world/callers.ts'
import { changedSince, prints } from '../world/prints.ts'
import type { Things, World } from '../world/things.ts'
import { type Cell, cellsOf } from './expected.ts'
import type { MatrixRow } from './rows.ts'
import { shownBeyond } from './shown.ts'
import { forwarded, otherWays } from './variants.ts'
import type { Wire, WireReply, WireRequest } from './wire.ts'

/** A request that is refused, or that only reads, as the table has it; and what came of it. */
interface Plain {
  cell: Cell
  request: WireRequest
  reply: WireReply
}

/** Who asks for things of `own`: nobody, somebody who lacks the right, a stranger, a key that is somewhere else; and who may. */
const askers = ['anonymous', 'lacking', 'other', 'farKey', 'all']
const isWrite = ({ operation }: MatrixRow) => table.find(({ name }) => name === operation)?.route.writes

/** Nothing that needs no credential is refused for who asks; what is wrong with the request itself is. */
const wrongInput = (row: MatrixRow) =>
  row.needs !== 'anyone' ? {} : isWrite(row) ? { body: { unknown: true } } : { query: { unknown: '1' } }

function onWire({ method, url, query, headers, payload }: Prepared): WireRequest {
  const text = new URLSearchParams(query as Record<string, string> | undefined).toString()
  return {
    method,
    target: url + (text && `?${text}`),
    headers,
    ...(payload !== undefined && { payload: payload as object }),
  }
}

/** Names of `otherWays` and of `forwarded`. */
interface Tried {
  ways?: readonly string[]
  headers?: readonly string[]
}

export function wireCheck(world: World, things: Things) {
  const callers = new Map<string, Promise<Caller>>()

  function callerOf({ caller: name, row: { needs } }: Cell): Promise<Caller> {
    const key = name === 'lacking' ? `${name} ${needs}` : name
    const caller =
      callers.get(key) ?? makeCaller[name]?.(world, needs.includes(':') ? (needs as Permission) : undefined)
    if (!caller) throw new Error(`nobody makes a ${name}`)
    callers.set(key, caller)
    return caller
  }

  /** What changes nothing, by whoever asks. */
  async function plainOf(wire: Wire, row: MatrixRow, names: readonly string[]): Promise<Plain[]> {
    const cells = cellsOf(row).filter(
      ({ caller, target }) => names.includes(caller) && /^(own|-)$/.test(target),
    )
    const harmless = cells.filter(
      ({ expected }) => row.needs === 'anyone' || !isWrite(row) || Number(expected) >= 400,
    )
    return Promise.all(
      harmless.map(async (cell) => {
        const options = { caller: await callerOf(cell), things, ...wrongInput(row) }
        const request = onWire(await prepare(world, row.operation, options))
        return { cell, request, reply: await wire(request) }
      }),
    )
  }

  const nameOf = ({ row, caller }: Cell, variant: string) => `${row.operation}, ${caller}, ${variant}`

  /** A refusal stays one, an answer is the same one or a refusal, and nobody else's are in it. */
  async function writtenOtherwise(wire: Wire, plain: Plain, variant: string): Promise<string[]> {
    const request = otherWays[variant]?.(plain.request)
    if (!request) return []
    const { status, text } = await wire(request)
    const name = nameOf(plain.cell, variant)
    const shown = shownBeyond(plain.cell, text, JSON.stringify(plain.request))
    const as = plain.reply.status
    return [
      ...(status < 400 && status !== as ? [`${name}: ${status} instead of ${as}`] : []),
      ...(shown.length > 0 ? [`${name}: shows ${shown.slice(0, 3).join(', ')}`] : []),
    ]
  }

  /** Byte for byte the same answer; a limit may be met meanwhile. */
  async function withHeader(wire: Wire, { cell, request, reply }: Plain, header: string): Promise<string[]> {
    const added = forwarded[header]?.(request)
    const { status, text } = await wire({ ...request, headers: { ...request.headers, ...added } })
    const limited = Math.min(reply.status, status) >= 400 && [reply.status, status].includes(429)
    if (limited || (status === reply.status && text === reply.text)) return []
    return [`${nameOf(cell, header)}: ${status} ${text.slice(0, 200)} instead of ${reply.status}`]
  }

  const notAsTold = (row: MatrixRow, plains: readonly Plain[]): string[] =>
    plains
      .filter(
        ({ cell, reply }) =>
          row.needs !== 'anyone' && String(reply.status) !== cell.expected.replace(/^(un)?seen$/, '200'),
      )
      .map(({ cell, reply }) => `${nameOf(cell, 'as it is')}: ${reply.status} instead of ${cell.expected}`)

  async function each(
    plains: readonly Plain[],
    variants: readonly string[],
    ask: (plain: Plain, variant: string) => Promise<string[]>,
  ): Promise<string[]> {
    const found: string[] = []
    for (const variant of variants)
      found.push(...(await Promise.all(plains.map((plain) => ask(plain, variant)))).flat())
    return found
  }

  /**
   * The answers to what is asked plainly are what the table says, and stay that in other ways to write it and with other headers.
   * Nothing in the whole database changes meanwhile.
   */
  return async (
    wire: Wire,
    row: MatrixRow,
    { ways = [], headers = [] }: Tried,
    names: readonly string[] = askers,
  ): Promise<string[]> => {
    await plainOf(wire, row, names) // makes who asks: that is seen in lists, and in the database
    const before = await prints(world)
    const plains = await plainOf(wire, row, names)
    const found = [
      ...notAsTold(row, plains),
      ...(await each(plains, ways, (plain, variant) => writtenOtherwise(wire, plain, variant))),
      ...(await each(plains, headers, (plain, header) => withHeader(wire, plain, header))),
    ]
    const changed = changedSince(before, await prints(world))
    return [...found, ...changed.map((table) => `${row.operation}: ${table} changed`)]
  }
}
