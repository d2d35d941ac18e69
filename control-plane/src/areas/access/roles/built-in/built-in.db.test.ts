import { readMigrations } from '../../../../db/migrate.ts'
import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { allPermissions } from '../../../../kernel/rights.ts'
import { builtInRoles } from './roles.ts'
import { giveBuiltInRoles } from './service.ts'

const t = await testApp()

const rolesOf = (partnerId: string) => t.db.rows`
  select r.scope, r.name, r.description, r.is_system, r.force_mfa,
    (select array_agg(p.resource || ':' || p.action order by p.resource, p.action) from role_permissions p where p.role_id = r.id) as rights
  from roles r where r.partner_id = ${partnerId} order by r.scope, r.name`

test('tenants that are there already get by the migration what new ones are born with', async () => {
  const [fresh, old] = [await t.make.org(), await t.make.org()]
  await t.db.tx(async (tx) => {
    await giveBuiltInRoles(tx, { partnerId: fresh.partnerId, orgId: null })
    await giveBuiltInRoles(tx, fresh)
  })
  const migration = readMigrations().find(({ name }) => name.includes('built_in_roles'))
  await t.db.tx(async (tx) => {
    // The one role that each partner had before.
    await tx.run`
      insert into roles (id, partner_id, scope, name, description, is_system, force_mfa)
      values (gen_random_uuid(), ${old.partnerId}, 'partner', 'Partner Admin', 'Full access to the partner and its organizations', true, true)`
    await tx.run`
      insert into role_permissions (role_id, partner_id, resource, action)
      select id, partner_id, '*', '*' from roles where partner_id = ${old.partnerId}`
  })
  await t.owner.begin((sql) => sql.unsafe(migration?.text ?? ''))
  const given = await rolesOf(fresh.partnerId)
  expect(given).toHaveLength(6)
  expect(await rolesOf(old.partnerId)).toEqual(given)
})

test('of the built-in roles each gives rights of the catalogue, once each', () => {
  for (const { rights } of Object.values(builtInRoles).flat()) {
    expect(new Set(rights).size).toBe(rights.length)
    for (const right of rights) expect([...allPermissions, '*:*']).toContain(right)
  }
})
