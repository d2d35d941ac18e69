import type { Fragment, Sql } from 'postgres'

/**
 * What a caller may see. `nobody` sees nothing, so a public handler that forgets sees nothing; `system` is for the platform
 * administrator and for a few named jobs.
 */
export type Scope =
  | { kind: 'nobody' }
  | { kind: 'system' }
  | {
      kind: 'tenant'
      partnerId: string
      orgs: 'all' | readonly string[]
      /** also sees what belongs to the partner itself (`org_id` null) although `orgs` is a list; `orgAccess: none` is `[]` with this */
      partnerLevel?: true
      /** absent: no restriction */
      siteIds?: readonly string[]
      deviceGroupIds?: readonly string[]
    }

/**
 * The database as one caller sees it. `sql` builds fragments; `rows`, `one` and `run` execute. Outside a transaction each
 * statement carries its scope with it; inside a write's transaction the scope was set at its start.
 */
export interface Db {
  readonly scope: Scope
  readonly sql: Sql
  rows<T>(query: TemplateStringsArray, ...values: readonly unknown[]): Promise<T[]>
  one<T>(query: TemplateStringsArray, ...values: readonly unknown[]): Promise<T | undefined>
  /** For a statement whose rows do not matter: the number of rows it touched. Only inside a transaction. */
  run(query: TemplateStringsArray, ...values: readonly unknown[]): Promise<number>
  /**
   * Sends a statement whose outcome nobody waits for where it stands: it travels with the next one, at the latest with the commit, so it
   * costs no round trip. What the transaction does stands only if it succeeded; its error is the transaction's.
   * Only inside a transaction.
   */
  later(query: TemplateStringsArray, ...values: readonly unknown[]): void
  /** The number of a `limit`. A usual size of a page stands in the text, so that the list is planned once and for all. */
  atMost(rows: number): Fragment
  /** The first wall: true for rows of table alias `alias` that the caller may see. Every query on a tenant table says it. */
  visible(alias: string): Fragment
  /** As {@link visible}, for devices and their children: site and group restrictions too. `column` is the device's id there: `id`
   * in `devices` (default), `device_id` elsewhere. */
  visibleDevice(alias: string, column?: string): Fragment
  /** As {@link visible}, for device groups and what is said of them: the restriction to groups too. `column` is the group's id there:
   * `id` in `device_groups` (default), `group_id` elsewhere. */
  visibleGroup(alias: string, column?: string): Fragment
  /** Beside one of these: true for rows of `alias` that did not go with their organization; those without one stay. */
  living(alias: string): Fragment
}
