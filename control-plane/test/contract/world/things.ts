import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { accountsOf } from '../../harness/accounts.ts'
import type { TestApp } from '../../harness/app.ts'
import type { Site } from '../../harness/make.ts'
import { makeRelease } from '../../harness/release.ts'
import { registerRelease } from '../../../src/engines/updates/register.ts'
import { fetchTrusted } from '../../../src/engines/updates/trust.ts'
import { writeRelease } from '../../../../tools/release/write.ts'

/** What ids of requests name. */
export type Kind =
  | 'partner'
  | 'organization'
  | 'spareOrganization'
  | 'site'
  | 'emptySite'
  | 'device'
  | 'command'
  | 'apiKey'
  | 'enrollmentKey'
  | 'deviceGroup'
  | 'user'
  | 'invitee'
  | 'role'
  | 'spareRole'

/**
 * One of each kind, belonging together: the command is the device's, the device is the site's; the user has the role, nobody has the
 * spare one, and neither gives anything. `enrollmentSecret` is no id. The partner, the spare organization of the place's partner and
 * the empty site may be given up: nothing else is theirs.
 */
export type Things = Record<Kind | 'enrollmentSecret', string>

export type Where = 'own' | 'sibling' | 'foreign' | 'deleted' | 'absent'

/** Two partners, the first with two organizations, and things in them. `own` and `sibling` are the first's, `foreign` the second's. */
export interface World extends TestApp {
  places: Record<'own' | 'sibling' | 'foreign', Site>
  accounts: ReturnType<typeof accountsOf>
  /** new ones in a place; `deleted`: out of service, of `own`; `absent`: ids of nothing */
  things(where: Where): Promise<Things>
}

async function place(app: TestApp, partnerId: string): Promise<Site> {
  return app.make.site(await app.make.org(partnerId))
}

async function command(sql: Sql, at: Site, deviceId: string, status: string): Promise<string> {
  const id = crypto.randomUUID()
  await sql`
    insert into svc.commands (id, partner_id, org_id, device_id, type, lane, args, status, issued_by, expires_at, timeout_ms, finished_at)
    values (${id}, ${at.partnerId}, ${at.orgId}, ${deviceId}, 'list_processes', 'interactive', '{}', ${status}, 'system',
      now() + interval '1 day', 60000, ${status === 'queued' ? null : new Date()})`
  return id
}

/** Whoever may write keys may rotate one of these. */
const keyScopes = { scopes: ['organizations:write'] } as const

async function living(app: TestApp, sql: Sql, at: Site): Promise<Things> {
  const device = await app.make.device(at)
  const key = await app.make.enrollmentKey(at)
  await command(sql, at, device.id, 'succeeded') // so that a list of its commands has two
  return {
    partner: await app.make.partner(),
    organization: at.orgId,
    spareOrganization: (await app.make.org(at.partnerId)).orgId,
    site: at.siteId,
    emptySite: (await app.make.site(at)).siteId,
    device: device.id,
    command: await command(sql, at, device.id, 'queued'),
    apiKey: (await app.make.apiKey(at, keyScopes)).id,
    enrollmentKey: key.id,
    enrollmentSecret: key.key,
    deviceGroup: await app.make.group(at, [device.id]),
    ...(await members(app, at)),
  }
}

/** Members of an organization, and its roles. */
async function members({ make }: TestApp, at: Site) {
  const [role, spareRole] = [await make.role(at, []), await make.role(at, [])]
  const [user, invitee] = [await make.user(), await make.user({ status: 'invited' })]
  for (const { id } of [user, invitee]) await make.orgMember({ ...at, userId: id, roleId: role })
  return { user: user.id, invitee: invitee.id, role, spareRole }
}

/** A deleted organization and its site; a decommissioned device, its finished command and a revoked key in a living one. */
async function deleted(app: TestApp, sql: Sql, at: Site): Promise<Things> {
  const gone = await place(app, at.partnerId)
  await sql`update svc.organizations set deleted_at = now() where id = ${gone.orgId}`
  const device = await app.make.device(at, { lifecycle: 'decommissioned' })
  const key = await app.make.enrollmentKey(at, { revoked: true })
  const spare = await app.make.org(at.partnerId)
  const partner = await app.make.partner()
  await sql`update svc.organizations set deleted_at = now() where id = ${spare.orgId}`
  await sql`update svc.partners set deleted_at = now(), status = 'churned' where id = ${partner}`
  const empty = await app.make.site(at)
  await sql`update svc.sites set deleted_at = now() where id in (${empty.siteId}, ${gone.siteId})`
  return {
    partner,
    organization: gone.orgId,
    spareOrganization: spare.orgId,
    site: gone.siteId,
    emptySite: empty.siteId,
    device: device.id,
    command: await command(sql, at, device.id, 'cancelled'),
    apiKey: (await app.make.apiKey(at, { ...keyScopes, revoked: true })).id,
    enrollmentKey: key.id,
    enrollmentSecret: key.key,
    deviceGroup: await app.make.group(gone),
    ...(await members(app, gone)),
  }
}

const absent = (): Things => ({
  partner: crypto.randomUUID(),
  organization: crypto.randomUUID(),
  spareOrganization: crypto.randomUUID(),
  site: crypto.randomUUID(),
  emptySite: crypto.randomUUID(),
  device: crypto.randomUUID(),
  command: crypto.randomUUID(),
  apiKey: crypto.randomUUID(),
  enrollmentKey: crypto.randomUUID(),
  enrollmentSecret: `svce_${randomBytes(32).toString('base64url')}`,
  deviceGroup: crypto.randomUUID(),
  user: crypto.randomUUID(),
  invitee: crypto.randomUUID(),
  role: crypto.randomUUID(),
  spareRole: crypto.randomUUID(),
})

/** Two releases that are registered, and one that is not yet. */
async function releases({ config, core, db }: TestApp): Promise<void> {
  for (const [i, version] of ['1.0.0', '1.1.0', '1.2.0'].entries()) {
    writeRelease(config.binaryDir ?? '', makeRelease(version, i + 1))
    const found =
      version === '1.2.0' ? undefined : await fetchTrusted(core.ports, version, async () => undefined)
    if (found) await db.tx((tx) => registerRelease(tx, found))
  }
}

/** Makes the world in the app's own database. Call at the top level of a test file. */
export async function makeWorld(app: TestApp): Promise<World> {
  const sql = app.owner
  const own = await place(app, await app.make.partner())
  const sibling = await place(app, own.partnerId)
  const foreign = await place(app, await app.make.partner())
  const places = { own, sibling, foreign }
  await releases(app)
  const things = async (where: Where) => {
    if (where === 'absent') return absent()
    return where === 'deleted' ? deleted(app, sql, own) : living(app, sql, places[where])
  }
  return { ...app, places, accounts: accountsOf(app), things }
}
