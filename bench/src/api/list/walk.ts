import type { Client } from '../load/client.ts'
import type { Stage } from '../stage/stage.ts'
import { pageSize, type Sort, sorts } from './sorts.ts'
import type { Position } from './statement.ts'

/** A page far behind the first, as a caller comes to it. */
export interface Deep {
  /** of the API */
  cursor: string
  /** of the same row, for the statement */
  after: Position
}

interface Listed {
  devices: { id: string }[]
  nextCursor: string | null
}

/** The most that the API gives at once. */
const stride = 1_000

/**
 * Goes from page to page of a sort until the wanted one, which a caller could only reach so, and proves that it got there: the database,
 * counting rows, names the same device. @param page from 1, of {@link pageSize} rows
 */
export async function walkTo(client: Client, { sql, place }: Stage, sort: Sort, page: number): Promise<Deep> {
  let left = (page - 1) * pageSize
  let cursor: string | null = null
  while (left > 0) {
    const limit = Math.min(stride, left)
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const listed: Listed = await client.json<Listed>(
      200,
      'GET',
      `/api/v1/devices?sort=${sort}&limit=${limit}${from}`,
    )
    if (listed.devices.length !== limit || listed.nextCursor === null)
      throw new Error(`the list by ${sort} ends ${left} rows before page ${page}`)
    cursor = listed.nextCursor
    left -= limit
  }
  if (cursor === null) throw new Error(`page ${page} is the first one`)
  const { column, dir } = sorts[sort]
  const rows = await sql.unsafe<{ id: string; key: string }[]>(
    `select id, ${column}::text as key from devices where partner_id = $1 order by ${column} ${dir}, id ${dir} offset $2 limit 2`,
    [place.partnerId, (page - 1) * pageSize - 1],
  )
  const [last, first] = rows
  const path = `/api/v1/devices?sort=${sort}&cursor=${encodeURIComponent(cursor)}`
  const shown = await client.json<Listed>(200, 'GET', path)
  if (!last || !first || shown.devices[0]?.id !== first.id)
    throw new Error(`page ${page} by ${sort} begins with ${shown.devices[0]?.id}, not with ${first?.id}`)
  return { cursor, after: { key: last.key, id: last.id } }
}
