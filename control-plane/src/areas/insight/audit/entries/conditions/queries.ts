import type { Fragment } from 'postgres'
import type { Db, Scope } from '../../../../../kernel/tenancy.ts'
import type { Filter } from '../schema.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
export const isId = (text: string): boolean => uuid.test(text)

/** What columns say of a filter's values: everything but the words of `q`, and the times. */
export function saidBy(db: Db, filter: Filter): Fragment {
  const { sql } = db
  const { actorType, actor, action, excludeActions, resource, result } = filter
  return sql`
    ${actorType ? sql`and a.actor_type = ${actorType}` : sql``}
    ${actor ? whoActed(db, actor) : sql``}
    ${action ? among(db, action) : sql``}
    ${excludeActions ? sql`and a.action <> all (${[...excludeActions]}::text[])` : sql``}
    ${resource ? whatWas(db, resource) : sql``}
    ${result ? sql`and a.result = ${result}` : sql``}`
}

export const whoActed = ({ sql }: Db, actor: string) =>
  isId(actor) ? sql`and a.actor_id = ${actor}::uuid` : sql`and lower(a.actor_email) = lower(${actor})`

/** A single value is compared plainly: only so does an index keep its order. */
export const among = ({ sql }: Db, actions: readonly string[]) =>
  actions.length === 1
    ? sql`and a.action = ${actions[0] ?? null}`
    : sql`and a.action = any (${[...actions]}::text[])`

const whatWas = ({ sql }: Db, resource: string) =>
  isId(resource)
    ? sql`and a.resource_id = ${resource}::uuid`
    : sql`and (a.resource_type = ${resource} or lower(a.resource_name) = lower(${resource}))`

export const within = ({ sql }: Db, { from, to }: Filter) => sql`
  ${from ? sql`and a.at >= ${from}` : sql``} ${to ? sql`and a.at < ${to}` : sql``}`

/** One of `tsquery`, as in svc.words_of_audit. */
const quoted = (letter: string, value: string) => `'${`${letter}:${value}`.replaceAll(/[\\']/g, '$&$&')}'`
const oneOf = (words: readonly string[]) => `(${words.join(' | ')})`

function placeWords(scope: Scope, orgId: string | undefined): string[] {
  if (scope.kind !== 'tenant') throw new Error('the audit log is searched by tenants')
  const { partnerId, orgs, partnerLevel } = scope
  const seen = orgs === 'all' ? [] : [...orgs, ...(partnerLevel ? ['-'] : [])]
  return [
    quoted('p', partnerId),
    ...(seen.length > 0 ? [oneOf(seen.map((org) => quoted('o', org)))] : []),
    ...(orgId ? [quoted('o', orgId)] : []),
  ]
}

/**
 * What an index over words finds of a filter: all that it says but times, excluded actions and kinds of actors. `q` is put into words by the database,
 * as the rows were.
 */
export function wordsOf(db: Db, { actor, action, resource, result, orgId, q }: Filter): Fragment {
  const words = [
    ...placeWords(db.scope, orgId),
    ...(actor ? [quoted(isId(actor) ? 'u' : 'e', actor)] : []),
    ...(action ? [oneOf(action.map((one) => quoted('a', one)))] : []),
    ...(resource
      ? [isId(resource) ? quoted('i', resource) : oneOf([quoted('t', resource), quoted('n', resource)])]
      : []),
    ...(result ? [quoted('r', result)] : []),
  ].join(' & ')
  const said = db.sql`lower(${words})::tsquery`
  return q ? db.sql`(${said} && svc.words_query(${q}))` : said
}
