/** The sorts of `GET /devices`: the column that each orders by, and whether that goes forwards unless told otherwise. */
export const sorts = {
  hostname: { column: 'hostname_key', type: 'text', dir: 'asc' },
  lastSeen: { column: 'last_seen_rank', type: 'timestamptz', dir: 'desc' },
  enrolled: { column: 'enrolled_rank', type: 'timestamptz', dir: 'desc' },
} as const

export type Sort = keyof typeof sorts
export type Direction = 'asc' | 'desc'

export const sortNames = Object.keys(sorts) as Sort[]

/** Rows of a page, as the product gives them when nobody says. */
export const pageSize = 50
