import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** One line of `matrix.tsv`. */
export interface MatrixRow {
  operation: string
  needs: string | undefined
  target: string
  /** caller → expected: a status, or `seen`, `unseen` */
  expected: ReadonlyMap<string, string>
}

const file = fileURLToPath(new URL('../matrix.tsv', import.meta.url))

/** Reads the reviewed expectations. @throws for a line that has not a cell for each caller */
export function readMatrix(text = readFileSync(file, 'utf8')): MatrixRow[] {
  const [head = [], ...lines] = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'))
  const callers = head.slice(3)
  return lines.map(([operation = '', needs = '', target = '', ...cells]) => {
    if (cells.length !== callers.length || cells.some((cell) => !/^(\d{3}|seen|unseen)$/.test(cell))) {
      throw new Error(`matrix.tsv: the line of ${operation}, ${target} is not whole`)
    }
    const expected = new Map(callers.map((caller, index) => [caller, cells[index] ?? '']))
    return { operation, needs: needs === '-' ? undefined : needs, target, expected }
  })
}
