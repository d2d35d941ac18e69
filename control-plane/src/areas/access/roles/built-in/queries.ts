import { textArray } from '../../../../db/array-literal.ts'
import type { Db } from '../../../../kernel/tenancy.ts'

export interface NewBuiltIn {
  id: string
  partnerId: string
  orgId: string | null
  name: string
  description: string
  forceMfa: boolean
  /** `resource:action` each */
  rights: readonly string[]
}

export const insertBuiltIn = (db: Db, role: NewBuiltIn) => db.run`
  with made as (
    insert into roles (id, partner_id, org_id, scope, name, description, is_system, force_mfa)
    values (${role.id}, ${role.partnerId}, ${role.orgId}, ${role.orgId ? 'organization' : 'partner'}, ${role.name},
      ${role.description}, true, ${role.forceMfa})
    returning id, partner_id, org_id)
  insert into role_permissions (role_id, partner_id, org_id, resource, action)
  select m.id, m.partner_id, m.org_id, split_part(r, ':', 1), split_part(r, ':', 2)
  from made m, unnest(${textArray(role.rights)}::text[]) r`
