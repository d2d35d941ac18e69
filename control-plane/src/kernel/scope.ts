import type { Fragment, Sql } from 'postgres'
import { template } from './statement.ts'
import type { Scope } from './tenancy.ts'

/** A caller's scope is the same object from request to request. */
const texts = new WeakMap<Scope, string>()

/** The text of setting `app.scope`, which the policies of the second wall read; empty: nothing is seen. */
export function scopeText(scope: Scope): string {
  const known = texts.get(scope)
  if (known !== undefined) return known
  const text = textOf(scope)
  texts.set(scope, text)
  return text
}

function textOf(scope: Scope): string {
  if (scope.kind === 'system') return '"system"'
  if (scope.kind === 'nobody') return ''
  const { partnerId, orgs, partnerLevel } = scope
  return JSON.stringify({ partner: partnerId, orgs, ...(partnerLevel && { partnerLevel }) })
}

/** By alias, the text of the condition that most statements carry: put together once instead of from three fragments each time. */
const ofPartner = new Map<string, TemplateStringsArray>()

function partnerText(alias: string): TemplateStringsArray {
  const known = ofPartner.get(alias)
  if (known) return known
  const text = template(`"${alias}".partner_id = `, '::uuid')
  ofPartner.set(alias, text)
  return text
}

/** The first wall: a condition on the tenant columns of table alias `alias`. */
export function visible(sql: Sql, scope: Scope, alias: string): Fragment {
  if (scope.kind === 'system') return sql`true`
  if (scope.kind === 'nobody') return sql`false`
  if (scope.orgs === 'all') return sql(partnerText(alias), scope.partnerId)
  const row = sql(alias)
  const orgs = scope.orgs as string[]
  const own = scope.partnerLevel ? sql`or ${row}.org_id is null` : sql``
  return sql`(${row}.partner_id = ${scope.partnerId}::uuid and (${row}.org_id = any(${orgs}::uuid[]) ${own}))`
}

/** {@link visible}, and the caller's restriction to sites and device groups; with both, a device must satisfy both. */
export function visibleDevice(sql: Sql, scope: Scope, alias: string, column: string): Fragment {
  const tenant = visible(sql, scope, alias)
  if (scope.kind !== 'tenant' || !(scope.siteIds || scope.deviceGroupIds)) return tenant
  const id = sql`${sql(alias)}.${sql(column)}`
  const sites = scope.siteIds as string[] | undefined
  const groups = scope.deviceGroupIds as string[] | undefined
  // In `devices` itself the column is at hand: a semi-join would cost the list its index order.
  const sited =
    column === 'id'
      ? sql`${sql(alias)}.site_id = any(${sites ?? []}::uuid[])`
      : sql`exists (select from devices sited where sited.id = ${id} and sited.site_id = any(${sites ?? []}::uuid[]))`
  const inSites = sites ? sql`and ${sited}` : sql``
  const inGroups = groups
    ? sql`and exists (select from device_group_members grouped
        where grouped.device_id = ${id} and grouped.group_id = any(${groups}::uuid[]))`
    : sql``
  return sql`(${tenant} ${inSites} ${inGroups})`
}

/** Rows that are a partner's own, or of an organization that was not given up. Says nothing of what may be seen. */
export function living(sql: Sql, scope: Scope, alias: string): Fragment {
  return sql`not exists (select from organizations gone
    where ${visible(sql, scope, 'gone')} and gone.id = ${sql(alias)}.org_id and gone.deleted_at is not null)`
}

/** {@link visible}, and the caller's restriction to device groups. */
export function visibleGroup(sql: Sql, scope: Scope, alias: string, column: string): Fragment {
  const tenant = visible(sql, scope, alias)
  if (scope.kind !== 'tenant' || !scope.deviceGroupIds) return tenant
  return sql`(${tenant} and ${sql(alias)}.${sql(column)} = any(${scope.deviceGroupIds as string[]}::uuid[]))`
}
