import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One field of a message, as its line in the .proto says. */
export interface Field {
  name: string
  number: number
  /** a scalar of proto3, or the name of a message or an enum */
  type: string
  repeated: boolean
  oneof: string | undefined
}

export interface Message {
  name: string
  fields: ReadonlyMap<number, Field>
}

/** What the .proto files say, read by ourselves: nothing here was made by the product's generator. */
export interface Schema {
  messages: ReadonlyMap<string, Message>
  /** by enum, the numbers that it knows */
  enums: ReadonlyMap<string, ReadonlyMap<number, string>>
}

const folder = join(import.meta.dirname, '../../../../proto/svc/v1')

const head = /^\s*(message|enum|oneof) (\w+) \{$/
const fieldLine = /^\s*(?:(repeated|optional) )?([\w.]+) (\w+) = (\d+);$/
const valueLine = /^\s*(\w+) = (\d+);$/
const importLine = /^import "(.+)";$/gm

const camel = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Reads `envelope.proto` and whatever it imports. Throws on a line that it does not understand. */
export function readSchema(): Schema {
  const messages = new Map<string, Message>()
  const enums = new Map<string, Map<number, string>>()
  const seen = new Set<string>()
  const read = (file: string) => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [, imported = ''] of text.matchAll(importLine)) read(imported)
    readFile(text, messages, enums)
  }
  read('envelope.proto')
  return { messages, enums }
}

function readFile(
  text: string,
  messages: Map<string, Message>,
  enums: Map<string, Map<number, string>>,
): void {
  let fields: Map<number, Field> | undefined
  let values: Map<number, string> | undefined
  let oneof: string | undefined
  for (const whole of text.split('\n')) {
    const line = whole.replace(/\/\/.*$/, '').trimEnd()
    const [, kind, name = ''] = head.exec(line) ?? []
    const [, label, type = '', field = '', number = ''] = fieldLine.exec(line) ?? []
    const [, value = '', valueNumber = ''] = valueLine.exec(line) ?? []
    if (kind === 'message') messages.set(name, { name, fields: (fields = new Map()) })
    else if (kind === 'enum') enums.set(name, (values = new Map()))
    else if (kind === 'oneof') oneof = name
    else if (/^\s*\}$/.test(line)) {
      if (oneof) oneof = undefined
      else fields = values = undefined
    } else if (values && value) values.set(Number(valueNumber), value)
    else if (fields && type)
      fields.set(Number(number), {
        name: camel(field),
        number: Number(number),
        type,
        repeated: label === 'repeated',
        oneof,
      })
    else if (line.trim() && !/^(syntax|package|import) /.test(line))
      throw new Error(`not understood: ${whole}`)
  }
}
