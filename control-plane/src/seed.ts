import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import type { Clock } from './adapters/clock.ts'
import type { Passwords } from './adapters/passwords.ts'
import type { Secrets } from './adapters/secrets.ts'
import type { Totp } from './adapters/totp.ts'
import { totpPlace } from './areas/access/auth/mfa/proof.ts'
import { makeRecoveryCodes, recoveryCodeHash } from './areas/access/auth/mfa/recovery-codes.ts'
import { makeEnrollmentKey } from './areas/access/enrollment-keys/service.ts'
import { giveBuiltInRoles } from './areas/access/roles/built-in/service.ts'
import type { WorkerDb } from './kernel/db.ts'
import type { Db } from './kernel/tenancy.ts'

const dayMs = 86_400_000
/** The most that the API allows too: a demo is not to stop enrolling within its life. */
const keyLifeMs = 365 * dayMs

export interface SeedPorts {
  passwords: Passwords
  totp: Totp
  secrets: Secrets
  clock: Clock
}

/** What to call things; each has a default. `password`: 24 random characters unless given. */
export interface DemoNames {
  partnerName?: string
  /** what a second call recognizes the first one's work by */
  partnerSlug?: string
  organizationName?: string
  organizationSlug?: string
  siteName?: string
  adminEmail?: string
  adminName?: string
  password?: string
}

/** What is shown once, when it is made: only digests and sealed copies are kept. */
export interface DemoSecrets {
  password: string
  /** base32 */
  totpSecret: string
  otpAuthUrl: string
  recoveryCodes: string[]
  enrollmentKey: string
}

export interface Demo {
  partnerId: string
  organizationId: string
  siteId: string
  userId: string
  email: string
  /** absent when the demo was there already */
  secrets?: DemoSecrets
}

/** What is kept of a demo that is made: its secrets are known nowhere else. */
export type MadeDemo = Demo & { secrets: DemoSecrets }

/**
 * A partner and its roles, one organization, one site, an administrator whose authenticator is enrolled already, and an
 * enrollment key without a limit of uses. All or nothing; whoever comes second gets what the first one made, without secrets.
 *
 * @param db of svc_worker in scope `system`
 * @param keep is called, and waited for, just before the demo is committed: whoever keeps the secrets then cannot lose them
 *   to an end of this process in between. What it kept is void when the commit fails; the next call makes another demo.
 */
export async function seedDemo(
  db: WorkerDb,
  ports: SeedPorts,
  given: DemoNames = {},
  keep: (demo: MadeDemo, db: Db) => unknown = () => undefined,
): Promise<Demo> {
  const names = withDefaults(given)
  const existing = await findDemo(db, names.partnerSlug)
  if (existing) return existing
  // Slow, so before the transaction.
  const passwordHash = await ports.passwords.hash(names.password)
  const made = await db.tx(async (tx) => {
    const demo = await makeDemo(tx, ports, names, passwordHash)
    if (demo) await keep(demo, tx)
    return demo
  })
  if (made) return made
  const others = await findDemo(db, names.partnerSlug)
  if (!others)
    throw new Error(
      `partner ${names.partnerSlug} exists, but is no demo: it lacks an organization, site or user`,
    )
  return others
}

/** A further enrollment key for a site, for whoever lost the first one. Unlimited uses, 365 days. @returns the key, shown once */
export const addEnrollmentKey = (db: WorkerDb, ports: Pick<SeedPorts, 'clock'>, place: Place, name: string) =>
  db.tx((tx) => insertKey(tx, ports, place, name))

type Place = Pick<Demo, 'partnerId' | 'organizationId' | 'siteId' | 'userId'>

async function insertKey(
  db: Db,
  { clock }: Pick<SeedPorts, 'clock'>,
  place: Place,
  name: string,
): Promise<string> {
  const key = makeEnrollmentKey()
  await db.run`
    insert into enrollment_keys (id, partner_id, org_id, site_id, name, key_hash, expires_at, created_by)
    values (${uuid()}, ${place.partnerId}, ${place.organizationId}, ${place.siteId}, ${name}, ${tokenHash(key)},
      ${new Date(clock.now().getTime() + keyLifeMs)}, ${place.userId})`
  return key
}

/** The one way to become platform administrator: a command on the server. @returns false when there is no such user */
export const setPlatformAdmin = (db: Pick<WorkerDb, 'tx'>, email: string, admin: boolean): Promise<boolean> =>
  db.tx(async (tx) => {
    const touched = await tx.run`
      update users set platform_admin = ${admin}, updated_at = now() where email = ${email.trim().toLowerCase()}`
    return touched > 0
  })

const withDefaults = ({
  partnerName = 'Demo Partner',
  partnerSlug = 'demo',
  organizationName = 'Demo Organization',
  organizationSlug = 'demo-organization',
  siteName = 'Headquarters',
  adminEmail = 'admin@demo.example',
  adminName = 'Demo Admin',
  password = randomBytes(18).toString('base64url'),
}: DemoNames): Required<DemoNames> => ({
  partnerName,
  partnerSlug,
  organizationName,
  organizationSlug,
  siteName,
  adminEmail: adminEmail.trim().toLowerCase(),
  adminName,
  password,
})

/** The oldest organization, site and partner-level user of a partner. */
const findDemo = (db: Db, slug: string) => db.one<Demo>`
  select p.id as partner_id, o.id as organization_id, s.id as site_id, u.id as user_id, u.email
  from partners p
    join organizations o on o.partner_id = p.id and o.deleted_at is null
    join sites s on s.org_id = o.id
    join partner_memberships m on m.partner_id = p.id
    join users u on u.id = m.user_id
  where p.slug = ${slug}
  order by o.created_at, o.id, s.created_at, s.id, m.created_at, u.id
  limit 1`

/** Undefined when somebody else made the partner meanwhile. */
async function makeDemo(
  db: Db,
  ports: SeedPorts,
  names: Required<DemoNames>,
  passwordHash: string,
): Promise<MadeDemo | undefined> {
  const [partnerId, organizationId, siteId] = [uuid(), uuid(), uuid()]
  const fresh = await db.run`
    insert into partners (id, name, slug) values (${partnerId}, ${names.partnerName}, ${names.partnerSlug})
    on conflict (slug) do nothing`
  if (fresh === 0) return undefined
  await db.run`
    insert into organizations (id, partner_id, name, slug)
    values (${organizationId}, ${partnerId}, ${names.organizationName}, ${names.organizationSlug})`
  await db.run`
    insert into sites (id, partner_id, org_id, name)
    values (${siteId}, ${partnerId}, ${organizationId}, ${names.siteName})`
  const roleId = await giveBuiltInRoles(db, { partnerId, orgId: null })
  await giveBuiltInRoles(db, { partnerId, orgId: organizationId })
  const admin = await makeAdmin(db, ports, names, { partnerId, roleId, passwordHash })
  const { userId, ...factors } = admin
  const place = { partnerId, organizationId, siteId, userId }
  const enrollmentKey = await insertKey(db, ports, place, 'Demo fleet')
  return {
    ...place,
    email: names.adminEmail,
    secrets: { password: names.password, ...factors, enrollmentKey },
  }
}

/** `totp_last_step` stays empty: the first code that is entered counts. */
async function makeAdmin(
  db: Db,
  { totp, secrets }: SeedPorts,
  { adminEmail, adminName }: Required<DemoNames>,
  { partnerId, roleId, passwordHash }: { partnerId: string; roleId: string; passwordHash: string },
) {
  const userId = uuid()
  const totpSecret = totp.secret()
  const recoveryCodes = makeRecoveryCodes()
  const codeHashes = recoveryCodes.map((code) => recoveryCodeHash(userId, code))
  await db.run`
    insert into users (id, email, name, status, password_hash, password_changed_at, email_verified_at, mfa_method,
      totp_secret, recovery_code_hashes)
    values (${userId}, ${adminEmail}, ${adminName}, 'active', ${passwordHash}, now(), now(), 'totp',
      ${secrets.seal(totpSecret, totpPlace(userId))}, ${db.sql.array(codeHashes)})`
  await db.run`
    insert into partner_memberships (partner_id, user_id, role_id, org_access)
    values (${partnerId}, ${userId}, ${roleId}, 'all')`
  return { userId, totpSecret, otpAuthUrl: totp.uri(totpSecret, adminEmail), recoveryCodes }
}
