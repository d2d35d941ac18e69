import type { z } from 'zod'

type Issue = z.core.$ZodRawIssue
type Code = Issue['code']
type Of<C extends Code> = Extract<Issue, { code: C }>

/** What a value must be, by the kind that the schema expects. A kind that is not here stands for itself. */
const kinds: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  bigint: 'a whole number',
  symbol: 'a symbol',
  undefined: 'left out',
  null: 'null',
  never: 'left out',
  void: 'left out',
  date: 'a date',
  array: 'an array',
  object: 'an object',
  tuple: 'an array',
  record: 'an object',
  map: 'a map',
  set: 'a set',
  file: 'a file',
  nan: 'NaN',
  function: 'a function',
}

/** What a text must be, by its format. Schemas with a pattern of their own say themselves what it means. */
const formats: Record<string, string> & Record<z.core.$ZodStringFormats, string> = {
  regex: 'of the right form',
  email: 'an e-mail address',
  url: 'a URL',
  emoji: 'an emoji',
  uuid: 'a UUID',
  guid: 'a GUID',
  nanoid: 'a nanoid',
  cuid: 'a cuid',
  cuid2: 'a cuid2',
  ulid: 'a ULID',
  xid: 'an xid',
  ksuid: 'a KSUID',
  datetime: 'a date and time such as 2026-01-31T12:00:00Z',
  date: 'a date such as 2026-01-31',
  time: 'a time such as 12:00:00',
  duration: 'a duration such as P1DT12H',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  mac: 'a MAC address',
  cidrv4: 'an IPv4 range such as 192.0.2.0/24',
  cidrv6: 'an IPv6 range such as 2001:db8::/32',
  base64: 'base64',
  base64url: 'base64url',
  json_string: 'JSON',
  e164: 'a phone number such as +15550100',
  currency_code: 'a currency code such as EUR',
  credit_card: 'a credit card number',
  iban: 'an IBAN',
  lowercase: 'lower case',
  uppercase: 'upper case',
  jwt: 'a JWT',
  starts_with: 'of the right beginning',
  ends_with: 'of the right end',
  includes: 'of the right content',
}

/** What is counted in a value of this kind; numbers and dates are compared themselves. */
const units: Record<string, readonly [one: string, many: string]> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
  map: ['entry', 'entries'],
  record: ['key', 'keys'],
  object: ['key', 'keys'],
  file: ['byte', 'bytes'],
}

interface Bound {
  origin: string
  limit: number | bigint
  inclusive?: boolean | undefined
  exact?: boolean | undefined
}

function bounded(words: { within: string; beyond: string }, { origin, limit, inclusive, exact }: Bound) {
  const word = exact ? 'exactly' : inclusive === false ? words.beyond : words.within
  if (origin === 'date') return `must be ${word} ${new Date(Number(limit)).toISOString()}`
  const unit = units[origin]
  return unit ? `must have ${word} ${limit} ${unit[Number(limit) === 1 ? 0 : 1]}` : `must be ${word} ${limit}`
}

function tooSmall({ origin, minimum: limit, inclusive, exact }: Of<'too_small'>): string {
  if (origin in units && Number(limit) === 1 && !exact && inclusive !== false) return 'must not be empty'
  return bounded({ within: 'at least', beyond: 'more than' }, { origin, limit, inclusive, exact })
}

function badFormat({ format, ...issue }: Of<'invalid_format'>): string {
  if ('prefix' in issue) return `must begin with ${String(issue['prefix'])}`
  if ('suffix' in issue) return `must end with ${String(issue['suffix'])}`
  if ('includes' in issue) return `must contain ${String(issue['includes'])}`
  return `must be ${formats[format] ?? `a ${format}`}`
}

const oneOf = (values: readonly unknown[]) =>
  values.length === 1 ? `must be ${String(values[0])}` : `must be one of ${values.map(String).join(', ')}`

const each = (issues: readonly { message: string }[]) => [...new Set(issues.map(({ message }) => message))]

function noBranch(issue: Of<'invalid_union'>): string {
  const { discriminator, options, input, errors } = issue
  if (discriminator !== undefined && options) {
    const given = (input as Record<string, unknown> | undefined)?.[discriminator]
    return given === undefined ? missing : oneOf(options as readonly unknown[])
  }
  if (issue.inclusive === false) return 'fits more than one of the forms that are taken'
  return each(errors.flat()).join(', or ')
}

const missing = 'is missing'

/** One voice for all that can be wrong with a value: each text goes on from the name of the field. */
const texts: { [C in Code]: (issue: Of<C>) => string } = {
  invalid_type: ({ expected }) => `must be ${kinds[expected] ?? expected}`,
  invalid_value: ({ values }) => oneOf(values),
  invalid_format: badFormat,
  too_small: tooSmall,
  too_big: ({ origin, maximum: limit, inclusive, exact }) =>
    bounded({ within: 'at most', beyond: 'less than' }, { origin, limit, inclusive, exact }),
  not_multiple_of: ({ divisor }) => `must be a multiple of ${divisor}`,
  unrecognized_keys: () => unknownKey,
  invalid_union: noBranch,
  invalid_key: ({ issues }) => `is not a key that is taken: ${each(issues).join(', ')}`,
  invalid_element: ({ issues }) => `holds a value that ${each(issues).join(', ')}`,
  custom: () => 'is not valid',
}

/** Of a key that no schema names. */
export const unknownKey = 'is not known'

/**
 * What is wrong with a value, as words that follow the field's name. For `safeParse(value, { error: issueText })`: a message
 * that a schema brings itself goes before it.
 */
export function issueText(issue: Issue): string {
  // A union's value is there when one of its discriminators is not.
  if (issue.input === undefined && issue.code !== 'invalid_union') return missing
  return texts[issue.code](issue as never)
}
