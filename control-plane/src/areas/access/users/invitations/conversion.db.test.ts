import { tokenHash } from '@svc/proto'
import { expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { readMigrations } from '../../../../db/migrate.ts'

const t = await testApp()

/** What the migration does with what is there, without the tables that are there already here. */
function conversion(): string {
  const text = readMigrations().find(({ name }) => name.includes('_invitations'))?.text ?? ''
  const [from, to] = [text.indexOf('set local "app.scope"'), text.indexOf('-- Is the account nobody')]
  if (from < 0 || to < from) throw new Error('the migration has no such part')
  return `set local role svc_owner;\n${text.slice(from, to)}`
}

test('memberships that wait become invitations, with the link that is out; what anybody has accepted or founded stays', async () => {
  const site = await t.make.site()
  const [orgRole, partnerRole] = [
    await t.make.role(site, ['devices:read']),
    await t.make.role({ partnerId: site.partnerId }, ['devices:read']),
  ]
  const [waiting, disabled] = [
    await t.make.user({ status: 'invited' }),
    await t.make.user({ status: 'disabled' }),
  ]
  const [founder, member, locked] = [
    await t.make.user({ passwordHash: 'x' }),
    await t.make.user({ passwordHash: 'x' }),
    await t.make.user({ status: 'disabled', passwordHash: 'x' }),
  ]
  await t.owner`update svc.users set email_verified_at = null where id = any (${[disabled.id, founder.id, locked.id]}::uuid[])`
  for (const { id } of [waiting, disabled, founder, member, locked])
    await t.make.orgMember({ ...site, userId: id, roleId: orgRole }, { siteIds: [site.siteId] })
  for (const { id } of [waiting, founder])
    await t.make.partnerMember({ userId: id, partnerId: site.partnerId, roleId: partnerRole })
  await t.owner`update svc.partner_memberships set founder = true where user_id = ${founder.id}`
  const token = 'svcl_of-the-version-before'
  await t.owner`insert into svc.user_tokens (user_id, purpose, token_hash, created_at, expires_at)
    values (${waiting.id}, 'invite', ${tokenHash(token)}, now(), now() + interval '7 days')`

  await t.owner.begin((sql) => sql.unsafe(conversion()))

  const invited = await t.owner`
    select email, org_id is null as of_partner, status, site_ids, org_access, token_hash is not null as link from svc.invitations
    where partner_id = ${site.partnerId} order by email, org_id nulls first`
  const ofOrg = { ofPartner: false, siteIds: [site.siteId], orgAccess: null }
  expect(invited.map((row) => ({ ...row }))).toEqual(
    [
      {
        email: waiting.email,
        ofPartner: true,
        siteIds: null,
        orgAccess: 'all',
        status: 'invited',
        link: false,
      },
      { email: waiting.email, ...ofOrg, status: 'invited', link: true },
      { email: disabled.email, ...ofOrg, status: 'disabled', link: false },
      { email: founder.email, ...ofOrg, status: 'invited', link: false },
    ].toSorted((a, b) => (a.email < b.email ? -1 : a.email > b.email ? 1 : 0)),
  )
  const left = await t.owner`
    select user_id from svc.organization_memberships where org_id = ${site.orgId}
    union all select user_id from svc.partner_memberships where partner_id = ${site.partnerId}`
  expect(left.map(({ userId }) => String(userId)).toSorted()).toEqual(
    [founder.id, member.id, locked.id].toSorted(),
  )
  const body = { token, password: 'seven green bottles hanging' }
  const accepted = await t.request('POST /auth/accept-invite', null, { body })
  expect([accepted.status, accepted.body.user?.id]).toEqual([200, waiting.id])
  const [anew] = await t.owner`select status from svc.users where id = ${disabled.id}`
  expect(anew).toEqual({ status: 'invited' })
})
