import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../../tools/bundle.mjs'

/**
 * Fields that an object has and its kind has not. The package's validators let them pass, as the API does before it warns; its
 * declarations name every field, one interface to a file, so those are read.
 */
export function unknownFields(manifest: object & { apiVersion: string; kind: string }): string[] {
  const file = join(root, 'node_modules/kubernetes-models', manifest.apiVersion, `${manifest.kind}.d.ts`)
  return existsSync(file)
    ? unknownIn(manifest, file, manifest.kind)
    : [`${manifest.apiVersion}: no ${manifest.kind}`]
}

function unknownIn(value: unknown, file: string, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown, i) => unknownIn(item, file, `${path}[${i}]`))
  if (typeof value !== 'object' || value === null) return []
  const known = fieldsOf(file)
  return Object.entries(value).flatMap(([name, inner]) => {
    const type = known.get(name)
    if (type === undefined) return [`${path}.${name}`]
    return type === '' ? [] : unknownIn(inner, type, `${path}.${name}`)
  })
}

const read = new Map<string, Map<string, string>>()

/** The fields of the interface of a file, with the file of what each holds; empty where that is a value, or a map of values. */
function fieldsOf(file: string): Map<string, string> {
  const before = read.get(file)
  if (before) return before
  const text = readFileSync(file, 'utf8')
  const imports = new Map(
    [...text.matchAll(/^import \{ (\w+) \} from "([^"]+)"/gm)].map(([, name = '', from = '']) => [
      name,
      pathOf(file, from),
    ]),
  )
  const [, body = ''] = /^export interface \w+[^{]*\{\n([\s\S]*?)^\}/m.exec(text) ?? []
  const fields = [...body.matchAll(/^ {4}"([^"]+)"\??: (?:Array<)?(\w*)/gm)].map(
    ([, name = '', type = '']) => [name, imports.get(type) ?? ''] as const,
  )
  const found = new Map(fields)
  read.set(file, found)
  return found
}

/** A union or an alias (a quantity, a time) has no interface in its file: what it holds is a value. */
function pathOf(file: string, from: string): string {
  const path = `${from.startsWith('.') ? join(dirname(file), from) : join(root, 'node_modules', from)}.d.ts`
  return existsSync(path) && /^export interface /m.test(readFileSync(path, 'utf8')) ? path : ''
}
