import type { Sql } from 'postgres'
import { v7 as uuid } from 'uuid'
import { storable } from '../db/array-literal.ts'
import { inTransaction } from './db.ts'
import type { Actor, AuditSubject, Client, Refusal } from './context.ts'
import type { Db, Scope } from './tenancy.ts'

/** What an audit row is made of. */
export interface AuditEntry {
  action: string
  result: 'success' | 'failure' | 'denied'
  actor: Actor
  subject: AuditSubject
  client: Client
  scope: Scope
  at: Date
}

/** A scope of one organization says where a row belongs when the handler does not. */
function placeOf(subject: AuditSubject, scope: Scope) {
  const partnerId = subject.partnerId ?? (scope.kind === 'tenant' ? scope.partnerId : undefined)
  const only =
    scope.kind === 'tenant' && scope.orgs !== 'all' && scope.orgs.length === 1 ? scope.orgs[0] : undefined
  return {
    partner_id: partnerId ?? null,
    org_id: subject.orgId ?? (subject.partnerId ? undefined : only) ?? null,
  }
}

/** No control characters in what outsiders send: the log is read in terminals. */
const printable = (text: string | undefined, most: number) =>
  text?.replaceAll(/\p{Cc}/gu, ' ').slice(0, most) ?? null

/** What outsiders send must not keep a row from being written: what no jsonb can hold is visibly replaced. */
const jsonText = (row: object) =>
  JSON.stringify(row, (_key, part: unknown) => (typeof part === 'string' ? storable(part) : part))

function rowOf({ action, result, actor, subject, client, scope, at }: AuditEntry) {
  return {
    id: uuid(),
    at: at.toISOString(),
    ...placeOf(subject, scope),
    actor_type: actor.type,
    actor_id: 'id' in actor ? actor.id : null,
    actor_email: 'email' in actor ? actor.email : null,
    on_behalf_of: actor.type === 'api_key' ? actor.ownerId : null,
    action,
    resource_type: subject.type ?? null,
    resource_id: subject.id ?? null,
    resource_name: printable(subject.name, 255),
    result,
    details: subject.details ?? {},
    ip: client.ip,
    user_agent: printable(client.userAgent, 500),
    request_id: client.requestId,
  }
}

/**
 * Writes the row in the transaction of what it tells of, with the commit at the latest, through the one function that may: a login has no scope yet, and a user
 * of selected organizations has none that covers the partner's own level. A tenant's request writes that tenant's rows alone.
 */
export function writeAudit(db: Db, entry: AuditEntry): void {
  db.later`select svc.write_audit(${jsonText(checkedRow(entry))}::text::jsonb)`
}

/** As {@link writeAudit}, in one statement however many they are: each thing that a bulk did to somebody. */
export function writeAudits(db: Db, entries: readonly AuditEntry[]): void {
  if (entries.length === 0) return
  db.later`select svc.write_audit(e.entry) from jsonb_array_elements(${jsonText(entries.map(checkedRow))}::text::jsonb) as e (entry)`
}

function checkedRow(entry: AuditEntry) {
  const row = rowOf(entry)
  if (entry.scope.kind === 'tenant' && row.partner_id !== entry.scope.partnerId) {
    throw new Error(`the audit row of ${entry.action} names another partner than the caller's`)
  }
  return row
}

/** Rows of refusals, in a transaction of their own: the refused request's is rolled back. */
export async function writeRefusals(
  pool: Sql,
  refusals: readonly (Refusal & { actor: Actor })[],
  client: Client,
  at: Date,
) {
  if (refusals.length === 0) return
  const scope = { kind: 'nobody' } as const
  await inTransaction(pool, scope, async (db) => {
    for (const { action, result, actor, ...subject } of refusals) {
      writeAudit(db, { action, result, actor, subject, client, scope, at })
    }
  })
}
