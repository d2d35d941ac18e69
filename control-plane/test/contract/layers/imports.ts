import { posix } from 'node:path'

/** One import of a file: a path in the repository for a relative one, else a package's name as written. */
export interface Import {
  from: string
  to: string
  /** nothing of it is left at run time */
  typeOnly: boolean
  line: number
}

const statement = /^\s*(?:import|export)\s+(type\s)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
const dynamic = /\b(?:import|require)\(\s*['"]([^'"]+)['"]/g

const lineOf = (text: string, index: number) => text.slice(0, index).split('\n').length

const target = (from: string, specifier: string) =>
  specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : specifier

/** Everything that a TypeScript source imports or re-exports. @param from its path in the repository */
export function importsOf(from: string, text: string): Import[] {
  const found = [...text.matchAll(statement)].map((match) => ({
    from,
    to: target(from, String(match[2])),
    typeOnly: match[1] !== undefined,
    line: lineOf(text, match.index + match[0].search(/\S/)),
  }))
  const calls = [...text.matchAll(dynamic)].map((match) => ({
    from,
    to: target(from, String(match[1])),
    typeOnly: false,
    line: lineOf(text, match.index),
  }))
  return [...found, ...calls]
}
