import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { root } from '../bundle.mjs'

/** A line of a log, for tests that read it. */
export type LogLine = Record<string, unknown> & { msg: string; details?: Record<string, unknown> }

export const schema = JSON.parse(readFileSync(join(root, 'docs/log-line.schema.json'), 'utf8')) as Record<
  string,
  unknown
> & { definitions: Record<string, { enum: string[] }>; properties: Record<string, { enum?: string[] }> }

const isLine = new Ajv({ allErrors: true, strictTypes: false }).compile(schema)

/** What is wrong with a line, in words; undefined for one that is as docs/log-line.schema.json says. */
export function flawOf(line: string): string | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return `no JSON: ${line.slice(0, 200)}`
  }
  if (isLine(value)) return undefined
  const [first] = isLine.errors ?? []
  return `${first?.instancePath || 'it'} ${first?.message} ${JSON.stringify(first?.params)}: ${line.slice(0, 300)}`
}

/** Every line of a text that is not one of the schema. */
export const flawsOf = (text: string): string[] =>
  text
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => flawOf(line) ?? [])
