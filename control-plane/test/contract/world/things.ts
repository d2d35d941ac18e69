import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { accountsOf } from '../../harness/accounts.ts'
import type { TestApp } from '../../harness/app.ts'
import { type Make, makeFor, type Site } from '../../harness/make.ts'
import { type People, peopleFor } from '../../harness/people.ts'
import { makeRelease } from '../../harness/release.ts'
import { registerRelease } from '../../../src/engines/updates/register.ts'
import { fetchTrusted } from '../../../src/engines/updates/trust.ts'
import { writeRelease } from '../../../../tools/release/write.ts'
import { type MarkName, marks } from './marks.ts'

/** What ids of requests name. */
export type Kind =
  | 'partner'
  | 'organization'
  | 'spareOrganization'
  | 'spareSite'
  | 'site'
  | 'emptySite'
  | 'device'
  | 'quarantinedDevice'
  | 'command'
  | 'apiKey'
  | 'enrollmentKey'
  | 'deviceGroup'
  | 'spareGroup'
  | 'groupChange'
  | 'user'
  | 'invitee'
  | 'role'
  | 'spareRole'
  | 'partnerRole'
  | 'reviewer'
  | 'accessReview'
  | 'reviewItem'
  | 'auditEntry'
  | 'ssoProvider'
  | 'spareSsoProvider'

/**
 * One of each kind, belonging together: the command is the device's, the device is the site's; the user has the role, nobody has the
 * spare one, and neither gives anything; `partnerRole` is the partner's own; the reviewer manages users, the review is of the user
 * alone, whom its item approves. `enrollmentSecret` is no id. The partner, the spare organization of the place's partner and its site, the empty
 * site and the spare group may be given up: nothing else is theirs.
 */
export type Things = Record<Kind | 'enrollmentSecret', string>

export type Where = 'own' | 'sibling' | 'foreign' | 'deleted' | 'absent'

/** Two partners, the first with two organizations, and things in them. `own` and `sibling` are the first's, `foreign` the second's. */
export interface World extends TestApp {
  places: Record<'own' | 'sibling' | 'foreign', Site>
  accounts: ReturnType<typeof accountsOf>
  /** makers of what carries a mark */
  by: By
  /**
   * New ones in a place; `deleted`: out of service, of `own`; `absent`: ids of nothing.
   *
   * @param kinds what of them is wanted; the rest is of nothing. Default: all
   */
  things(where: Where, kinds?: ReadonlySet<Thing>): Promise<Things>
}

type By = Record<MarkName, { make: Make; people: People }>
type Thing = keyof Things

function markedMakers({ db, owner, core }: TestApp): By {
  const maker = (name: MarkName) => {
    const make = makeFor(db, owner, marks[name])
    return { make, people: peopleFor(make, core.ports) }
  }
  return {
    own: maker('own'),
    sibling: maker('sibling'),
    first: maker('first'),
    foreign: maker('foreign'),
    second: maker('second'),
    gone: maker('gone'),
  }
}

const place = async (make: Make, partnerId: string): Promise<Site> => make.site(await make.org(partnerId))

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

/** Where things are made, by whom: what only who sees the whole partner may see is made by `whole`, the partner's own by `partner`. */
interface Maker {
  sql: Sql
  at: Site
  make: Make
  whole: Make
  partner: Make
}

type Wants = (...kinds: Thing[]) => boolean

async function living(maker: Maker, wants: Wants): Promise<Partial<Things>> {
  const { sql, at, make, whole } = maker
  return {
    ...(wants('partner') && { partner: await whole.partner() }),
    organization: at.orgId,
    ...(wants('spareOrganization', 'spareSite') && (await spare(whole, at.partnerId))),
    site: at.siteId,
    ...(wants('emptySite') && { emptySite: (await make.site(at)).siteId }),
    ...(wants('device', 'command', 'deviceGroup', 'spareGroup', 'groupChange', 'auditEntry') &&
      (await deviceWithWork(sql, make, at))),
    ...(wants('quarantinedDevice') && {
      quarantinedDevice: (await make.device(at, { lifecycle: 'quarantined' })).id,
    }),
    ...(wants('apiKey') && { apiKey: (await make.apiKey(at, keyScopes)).id }),
    ...(wants('enrollmentKey', 'enrollmentSecret') && enrollment(await make.enrollmentKey(at))),
    ...(wants('user', 'invitee', 'role', 'spareRole', 'reviewer', 'accessReview', 'reviewItem') &&
      (await members(make, at))),
    ...(wants('ssoProvider') && { ssoProvider: await make.ssoProvider(at) }),
    ...(wants('spareSsoProvider') && { spareSsoProvider: await make.ssoProvider(at) }),
    ...(wants('partnerRole') && { partnerRole: await maker.partner.role({ partnerId: at.partnerId }, []) }),
  }
}

async function spare(make: Make, partnerId: string) {
  const { orgId, siteId } = await place(make, partnerId)
  return { spareOrganization: orgId, spareSite: siteId }
}

async function deviceWithWork(sql: Sql, make: Make, at: Site) {
  const device = await make.device(at)
  // So that lists of its commands and of the group's devices have two.
  await command(sql, at, device.id, 'succeeded')
  const companion = await make.device(at)
  return {
    device: device.id,
    command: await command(sql, at, device.id, 'queued'),
    auditEntry: await make.auditEntry(at, device.id),
    ...(await groups(sql, make, at, [device.id, companion.id])),
  }
}

const enrollment = ({ id, key }: { id: string; key: string }) => ({
  enrollmentKey: id,
  enrollmentSecret: key,
})

/** A group that the devices joined, as its log says, and one without any. */
async function groups(sql: Sql, make: Make, at: Site, deviceIds: readonly string[]) {
  const [deviceGroup, spareGroup] = [await make.group(at, deviceIds), await make.group(at)]
  const changes = deviceIds.map((deviceId) => ({ id: crypto.randomUUID(), deviceId }))
  for (const { id, deviceId } of changes) {
    await sql`
      insert into svc.device_group_log (id, partner_id, org_id, group_id, device_id, action, reason)
      values (${id}, ${at.partnerId}, ${at.orgId}, ${deviceGroup}, ${deviceId}, 'added', 'manual')`
  }
  return { deviceGroup, spareGroup, groupChange: changes[0]?.id ?? crypto.randomUUID() }
}

/** Members of an organization, its roles, and a review of one of them. */
async function members(make: Make, at: Site) {
  const managing = await make.role(at, ['users:write'])
  const [role, spareRole] = [await make.role(at, []), await make.role(at, [])]
  const [user, invitee] = [await make.user(), await make.invitation({ ...at, roleId: role })]
  await make.orgMember({ ...at, userId: user.id, roleId: role })
  const reviewer = (await make.user()).id
  await make.orgMember({ ...at, userId: reviewer, roleId: managing })
  const { id: accessReview, itemIds } = await make.accessReview(at, reviewer, [user.id])
  const [reviewItem = ''] = itemIds
  return { user: user.id, invitee: invitee.id, role, spareRole, reviewer, accessReview, reviewItem }
}

/** A deleted organization and its site; a decommissioned device, its finished command and a revoked key in a living one. */
async function deleted({ sql, at, make }: Maker, lost: Make): Promise<Things> {
  const gone = await place(lost, at.partnerId)
  await sql`update svc.organizations set deleted_at = now() where id = ${gone.orgId}`
  const device = await make.device(at, { lifecycle: 'decommissioned' })
  const spareAt = await place(lost, at.partnerId)
  const partner = await lost.partner()
  await sql`update svc.organizations set deleted_at = now() where id = ${spareAt.orgId}`
  await sql`update svc.partners set deleted_at = now(), status = 'churned' where id = ${partner}`
  const empty = await lost.site(at)
  await sql`update svc.sites set deleted_at = now() where id in (${empty.siteId}, ${gone.siteId}, ${spareAt.siteId})`
  return {
    partner,
    organization: gone.orgId,
    spareOrganization: spareAt.orgId,
    spareSite: spareAt.siteId,
    site: gone.siteId,
    emptySite: empty.siteId,
    device: device.id,
    quarantinedDevice: device.id,
    command: await command(sql, at, device.id, 'cancelled'),
    auditEntry: await make.auditEntry(at, device.id),
    apiKey: (await make.apiKey(at, { ...keyScopes, revoked: true })).id,
    ...enrollment(await make.enrollmentKey(at, { revoked: true })),
    ...(await groups(sql, lost, gone, [])),
    ...(await members(lost, gone)),
    ssoProvider: await lost.ssoProvider(gone),
    spareSsoProvider: await lost.ssoProvider(gone),
    partnerRole: await lost.role({ partnerId: partner }, []),
  }
}

const absent = (): Things => ({
  partner: crypto.randomUUID(),
  organization: crypto.randomUUID(),
  spareOrganization: crypto.randomUUID(),
  spareSite: crypto.randomUUID(),
  site: crypto.randomUUID(),
  emptySite: crypto.randomUUID(),
  device: crypto.randomUUID(),
  quarantinedDevice: crypto.randomUUID(),
  command: crypto.randomUUID(),
  apiKey: crypto.randomUUID(),
  enrollmentKey: crypto.randomUUID(),
  enrollmentSecret: `svce_${randomBytes(32).toString('base64url')}`,
  deviceGroup: crypto.randomUUID(),
  spareGroup: crypto.randomUUID(),
  groupChange: crypto.randomUUID(),
  user: crypto.randomUUID(),
  invitee: crypto.randomUUID(),
  role: crypto.randomUUID(),
  spareRole: crypto.randomUUID(),
  partnerRole: crypto.randomUUID(),
  reviewer: crypto.randomUUID(),
  accessReview: crypto.randomUUID(),
  reviewItem: crypto.randomUUID(),
  auditEntry: crypto.randomUUID(),
  ssoProvider: crypto.randomUUID(),
  spareSsoProvider: crypto.randomUUID(),
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
  const by = markedMakers(app)
  const own = await place(by.own.make, await by.first.make.partner())
  const sibling = await place(by.sibling.make, own.partnerId)
  const foreign = await place(by.foreign.make, await by.second.make.partner())
  const places = { own, sibling, foreign }
  await releases(app)
  const makers: Record<keyof typeof places, Maker> = {
    own: { sql, at: own, make: by.own.make, whole: by.sibling.make, partner: by.first.make },
    sibling: { sql, at: sibling, make: by.sibling.make, whole: by.sibling.make, partner: by.first.make },
    foreign: { sql, at: foreign, make: by.foreign.make, whole: by.foreign.make, partner: by.second.make },
  }
  const things = async (where: Where, kinds?: ReadonlySet<Thing>) => {
    if (where === 'absent') return absent()
    if (where === 'deleted') return deleted(makers.own, by.gone.make)
    const wants: Wants = (...some) => !kinds || some.some((kind) => kinds.has(kind))
    return { ...absent(), ...(await living(makers[where], wants)) }
  }
  return { ...app, places, by, accounts: accountsOf(app), things }
}
