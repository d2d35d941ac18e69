import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A metric as the page has it, or as a program says it. */
export interface Described {
  kind: string
  /** as they were seen, or all that there are */
  labels: string[]
  help: string
}

const page = join(import.meta.dirname, '../../docs/metrics.md')
/** Of the format itself, or put there by a supervisor. */
const everywhere = new Set(['le', 'quantile', 'worker'])

/** The table of docs/metrics.md: `| name | kind | labels | help |`. */
export function tabled(): Map<string, Described> {
  const lines = readFileSync(page, 'utf8').matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm)
  return new Map(
    [...lines].map(([, name = '', kind = '', labels = '', help = '']) => [
      name,
      { kind, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label), help },
    ]),
  )
}

/** What texts of the exposition format tell of themselves. */
export function told(texts: readonly string[]): Map<string, Described> {
  const found = new Map<string, Described>()
  for (const text of texts) {
    const help = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, words]) => [name, words]))
    for (const [, name = '', kind = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      const labels = new Set(found.get(name)?.labels)
      for (const [, set = ''] of text.matchAll(
        new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'),
      ))
        for (const [, label = ''] of set.matchAll(/(\w+)="/g)) if (!everywhere.has(label)) labels.add(label)
      found.set(name, { kind, labels: [...labels], help: help.get(name) ?? '' })
    }
  }
  return found
}

/** A line of the table. */
export const rowOf = (name: string, { kind, labels, help }: Described): string =>
  `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`

/** Series in a text: what a Prometheus that asks for it has to keep. */
export const seriesIn = (text: string): number =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
