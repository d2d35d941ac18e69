import { cleaned, cleanText } from './cleaned.ts'
import { plainEvents, securityEvents } from './events.ts'

/** What stands beside time, level, program and text; everything else is one of its details. See docs/log-line.schema.json. */
const texts = new Set([
  'requestId',
  'traceId',
  'spanId',
  'partnerId',
  'orgId',
  'deviceId',
  'commandId',
  'actorId',
])

const events: ReadonlySet<unknown> = new Set([...plainEvents, ...Object.keys(securityEvents)])

/** Fields of a line in their places: any object gives one that fits the schema. */
export function arranged(given: Record<string, unknown>): Record<string, unknown> {
  // What is shown because nothing is configured to send it is meant to be read whole. Never in production: see config.ts.
  if (given['event'] === 'message.shown') return { event: given['event'], details: given['shown'] }
  // A list keeps its order, which may say what is secret in it.
  if (Array.isArray(given)) return { details: { items: cleaned(given) } }
  const line: Record<string, unknown> = {}
  let details: Record<string, unknown> | undefined
  for (const name of Object.keys(given)) {
    const value = given[name]
    if (value === undefined) continue
    if (typeof value === 'string' && texts.has(name)) line[name] = cleanText(value)
    else if (name === 'event' && events.has(value)) line[name] = value
    else if (name === 'security' && value === true) line[name] = value
    // What outsiders have to be able to check is whole: its signature is no secret.
    else if (name === 'auditHead' && given['event'] === 'audit.sealed') line[name] = value
    else if (name === 'err' && value instanceof Error) line[name] = cleaned(value)
    else (details ??= {})[name] = value
  }
  if (details) line['details'] = cleaned(details)
  return line
}
