/** Reads the endpoint tables of `docs/interface.md`. */

const verbs = /^(GET|POST|PUT|PATCH|DELETE)(, (GET|POST|PUT|PATCH|DELETE))*$/
/** `All under `/x`.` before a table: its paths are suffixes. */
const under = /^All under `([^`]+)`\.$/
/** Two endpoints stand in the text and in no table; the path of one is not below `/api/v1`. */
const inProse = /`(GET|POST|PUT|PATCH|DELETE) (?:\{base_url\})?(\/[^`\s]+)`/g

const segment = (path: string) => path.split('/')[1]
const parent = (path: string) => path.slice(0, path.lastIndexOf('/'))

/** `/a/:id/x, /y` means `/a/:id/y`; `/a, /a/b` means what it says: the second begins like the first. */
function spelledOut(cell: string): string[] {
  const [first = '', ...others] = cell.split(', ')
  return [first, ...others.map((path) => (segment(path) === segment(first) ? path : parent(first) + path))]
}

function rowsOf(line: string, prefix: string): string[] {
  const cells = line.split('|').map((cell) => cell.trim())
  const [methods = '', paths = ''] = [cells[1], cells[2]]
  if (!verbs.test(methods) || !paths.startsWith('/')) return []
  return methods
    .split(', ')
    .flatMap((method) => spelledOut(paths).map((path) => `${method} ${prefix}${path}`))
}

/** Every endpoint of the interface document as `METHOD /path`. A row with several of either is taken apart. */
export function interfaceRows(markdown: string): string[] {
  let prefix = ''
  const rows: string[] = []
  for (const line of markdown.split('\n')) {
    if (line.startsWith('#')) prefix = ''
    prefix = under.exec(line)?.[1] ?? prefix
    rows.push(...rowsOf(line, prefix))
  }
  const prose = [...markdown.matchAll(inProse)].map(([, method, path]) => `${method} ${path}`)
  return [...new Set([...rows, ...prose])]
}
