import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import { writeAudit } from '../../../../kernel/audit.ts'
import type { Redirect } from '../../../../kernel/route.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { failed } from './begin.ts'
import type { CallbackCtx, Failed, Verified } from './callback.ts'
import type { LoginError } from './codes.ts'
import { type Decision, decide } from './decide.ts'
import type { SsoPerson } from './person.ts'
import {
  type AccountRow,
  acceptInvitation,
  findAccount,
  findActiveProvider,
  forgetOtherSubjects,
  type HeldProvider,
  holdProvider,
  insertIdentity,
  insertMember,
  issueCode,
  provisionAccount,
  touchIdentity,
} from './queries.ts'

/** decisions "Numbers" */
const codeMs = 60_000

/** After the provider has spoken: an account in its organization, and a code for its browser; or an error. */
export async function admit(ctx: CallbackCtx, came: Failed | Verified): Promise<Redirect> {
  if ('code' in came) return reject(ctx, came)
  const { login, person } = came
  const { partnerId, orgId } = login
  const db = await ctx.establish({ kind: 'tenant', partnerId, orgs: [orgId] })
  const provider = await stillServing(db, login)
  if (typeof provider === 'string')
    return reject(ctx, { code: provider, reason: 'the provider changed while it was asked', login })
  const account = person.email && (await findAccount(db, login.providerId, person.subject, person.email))
  const decision = decide(person, provider, account || undefined)
  // Before anybody is turned away for not being there.
  const invited = mayBeInvited(decision, person, account || undefined)
    ? await acceptInvited(ctx, db, came)
    : undefined
  const through = { ...came, mfa: came.mfa && provider.trustsIdpMfa }
  if (invited !== undefined) return giveCode(ctx, db, invited, through)
  if (decision.kind === 'refuse')
    return reject(ctx, { code: decision.code, reason: decision.reason, login, subject: person.subject })
  const userId = await settle(ctx, db, came, decision)
  if (userId === undefined)
    return reject(ctx, { code: 'user_creation_failed', reason: 'somebody took the address', login })
  return giveCode(ctx, db, userId, through)
}

/** What it is by now: it may have taken its time to answer, and its organization may have had enough of it. */
async function stillServing(db: Db, login: Verified['login']): Promise<HeldProvider | LoginError> {
  const held = await holdProvider(db, login.providerId)
  const active = held && (await findActiveProvider(db, login.orgId))
  if (active?.id !== login.providerId || !held) return 'provider_not_found'
  return held.configVersion === login.configVersion ? held : 'sso_config_changed'
}

/** Whom nobody knows here: an invitation decides, before the provider's own rule for unknown users does. A linked subject stays who it is. */
function mayBeInvited(decision: Decision, { email }: SsoPerson, account: AccountRow | undefined): boolean {
  if (account?.linked && account.email !== email) return false
  if (decision.kind !== 'refuse') return decision.kind === 'provision'
  return ['user_not_found', 'default_role_required', 'no_org_access'].includes(decision.code)
}

/** The account of an invitation that this person's address has, as a member with the role of the invitation. */
async function acceptInvited(
  ctx: CallbackCtx,
  db: Db,
  { login, person }: Verified,
): Promise<string | undefined> {
  const at = ctx.ports.clock.now()
  const { subject, email = '' } = person
  const { partnerId, orgId, providerId } = login
  const accepted = await acceptInvitation(db, providerId, uuid(), email, at)
  if (!accepted) return undefined
  const { userId, ...details } = accepted
  await forgetOtherSubjects(db, { providerId, userId, subject })
  await insertIdentity(db, { id: uuid(), partnerId, orgId, providerId, subject, email, at, userId })
  note(ctx, db, 'sso.user.provisioned', login, { id: userId, email }, details)
  return userId
}

/** The account that comes in, made or linked where it was not. Undefined: it could not be made, and nothing was. */
async function settle(
  ctx: CallbackCtx,
  db: Db,
  { login, person }: Verified,
  decision: Exclude<Decision, { kind: 'refuse' }>,
): Promise<string | undefined> {
  const { partnerId, orgId, providerId } = login
  const at = ctx.ports.clock.now()
  const { subject, email = '' } = person
  const identity = { id: uuid(), partnerId, orgId, providerId, subject, email, at }
  switch (decision.kind) {
    case 'admit':
      await touchIdentity(db, identity)
      return decision.account.id
    case 'link': {
      const { id } = decision.account
      await insertIdentity(db, { ...identity, userId: id })
      note(ctx, db, 'sso.identity.linked', login, { id, email })
      return id
    }
    case 'provision': {
      const id = uuid()
      if (!(await provisionAccount(db, { id, email, name: person.name }, at))) return undefined
      await insertMember(db, { partnerId, orgId, userId: id, roleId: decision.roleId })
      await insertIdentity(db, { ...identity, userId: id })
      note(ctx, db, 'sso.user.provisioned', login, { id, email }, { roleId: decision.roleId })
      return id
    }
  }
}

/** The login itself leaves its row when the code is exchanged; this is what stays of it. */
function note(
  ctx: CallbackCtx,
  db: Db,
  action: string,
  { partnerId, orgId, providerId }: Verified['login'],
  { id, email }: { id: string; email: string },
  details: Record<string, unknown> = {},
) {
  writeAudit(db, {
    action,
    result: 'success',
    actor: { type: 'user', id, email },
    subject: {
      type: 'user',
      id,
      name: email,
      partnerId,
      orgId,
      details: { ssoProviderId: providerId, ...details },
    },
    client: ctx.client,
    scope: db.scope,
    at: ctx.ports.clock.now(),
  })
  ctx.after(() => ctx.ports.callers.changed(id))
}

async function giveCode(ctx: CallbackCtx, db: Db, userId: string, came: Verified): Promise<Redirect> {
  const { config, clock } = ctx.ports
  const code = `svcs_${randomBytes(32).toString('base64url')}`
  const { browserHash, mfa, mfaAt, login } = came
  const until = new Date(clock.now().getTime() + codeMs)
  const { providerId } = login
  await issueCode(db, { codeHash: tokenHash(code), userId, providerId, browserHash, mfa, mfaAt, until })
  // In the fragment: no server, proxy or Referer header ever sees it.
  return { to: `${config.publicUrl}/#ssoCode=${code}` }
}

function reject(ctx: CallbackCtx, { code, reason, login, subject }: Failed): Redirect {
  // Of a state that nobody knows there is nobody to tell.
  if (login?.providerId) {
    const { providerId: id, partnerId, orgId } = login
    ctx.refused({
      action: 'sso.callback.rejected',
      result: 'denied',
      type: 'sso_provider',
      id,
      partnerId,
      orgId,
      actor: { type: 'anonymous' },
      details: { code, reason, ...(subject !== undefined && { subject }) },
    })
  }
  return failed(ctx.ports, code)
}
