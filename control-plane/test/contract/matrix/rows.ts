import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** One line of `matrix.tsv`, whose head says what each column means. */
export interface MatrixRow {
  operation: string
  /** `anyone`, `login`, `platform`, or a permission */
  needs: string
  whose: Whose
  /** a status, or `list` */
  answer: string
  deleted: string
  key: string
  rules: ReadonlySet<string>
  /** `caller` or `caller@target` → what it gets instead */
  but: ReadonlyMap<string, string>
}

const kinds = ['organization', 'whole', 'partner', 'platform', 'secret', '-'] as const
export type Whose = (typeof kinds)[number]

/** What a cell of each column may say. */
const columns = {
  operation: /^(GET|POST|PUT|PATCH|DELETE) \/\S+$/,
  needs: /^(anyone|login|platform|[a-z]+:[a-z]+)$/,
  whose: new RegExp(`^(${kinds.join('|')})$`),
  answer: /^(\d{3}|list)$/,
  deleted: /^(\d{3}|seen|unseen|-)$/,
  key: /^(scope|any|no|-)$/,
  rules: /^(-|(all|fresh|exempt)(,(all|fresh|exempt))*)$/,
  but: /^(-|[a-zA-Z]+(@[a-z]+)?=\d{3}( [a-zA-Z]+(@[a-z]+)?=\d{3})*)$/,
}

const file = fileURLToPath(new URL('../matrix.tsv', import.meta.url))

/** Reads the reviewed expectations. @throws for a line that is not whole, and for a cell that says nothing */
export function readMatrix(text = readFileSync(file, 'utf8')): MatrixRow[] {
  const [head, ...lines] = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'))
  const names = Object.keys(columns)
  if (head?.join() !== names.join()) throw new Error(`matrix.tsv: the columns are ${names.join(', ')}`)
  return lines.map((cells) => {
    const wrong = Object.entries(columns).find(([, says], index) => !says.test(cells[index] ?? ''))
    if (wrong || cells.length !== names.length)
      throw new Error(`matrix.tsv: ${cells[0]}: ${wrong?.[0] ?? 'the number of cells'}`)
    const [operation = '', needs = '', whose, answer = '', deleted = '', key = '', rules, but] = cells
    return {
      operation,
      needs,
      whose: whose as Whose,
      answer,
      deleted,
      key,
      rules: new Set(listOf(rules, ',')),
      but: new Map(listOf(but, ' ').map((each) => each.split('=') as [string, string])),
    }
  })
}

const listOf = (cell = '-', separator: string) => (cell === '-' ? [] : cell.split(separator))
