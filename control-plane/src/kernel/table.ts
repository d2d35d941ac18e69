import { catalogue } from './errors.ts'
import type { Route } from './route.ts'

const byPath = (a: Route, b: Route) => (a.path === b.path ? order(a) - order(b) : a.path < b.path ? -1 : 1)
const order = ({ method }: Route) => ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].indexOf(method)

const auditOf = ({ audit }: Route) =>
  typeof audit === 'string' ? audit : audit === false ? '-' : `none (${audit.none})`

/** `docs/routes.txt`: METHOD PATH CAN AUDIT, one line per endpoint. */
export function routesText(routes: readonly Route[]): string {
  const rows = [...routes]
    .sort(byPath)
    .map((route) => [route.method, route.path, route.can, auditOf(route)] as const)
  const width = (column: 0 | 1 | 2) => Math.max(...rows.map((row) => row[column].length))
  const widths = [width(0), width(1), width(2)] as const
  return rows
    .map((row) =>
      `${row[0].padEnd(widths[0])}  ${row[1].padEnd(widths[1])}  ${row[2].padEnd(widths[2])}  ${row[3]}`.trimEnd(),
    )
    .join('\n')
    .concat('\n')
}

/** `docs/errors.md`: the catalogue of codes. */
export function errorsText(): string {
  const rows = Object.entries(catalogue).map(
    ([code, [status, meaning]]) => `| ${status} | \`${code}\` | ${meaning} |`,
  )
  return [
    '# Errors',
    '',
    'Every error answers `{"error": {"code", "message", "details": [objects]}}`; with 429 and 503 `retryAfter` (seconds) stands beside',
    '`error` and in the header. Made from `control-plane/src/kernel/errors.ts` by `npm run golden`.',
    '',
    '| Status | Code | Meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
