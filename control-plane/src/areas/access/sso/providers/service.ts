import { v7 as uuid } from 'uuid'
import { changed } from '../../../../kernel/changed.ts'
import { type Ctx, userBehind } from '../../../../kernel/context.ts'
import { wrongField } from '../../../../kernel/errors.ts'
import type { Page } from '../../../../kernel/page.ts'
import { partnerOfOrganization } from '../../../tenancy/orgs/organizations/service.ts'
import { beginChange } from '../../roles/tree/service.ts'
import { discover, type Discovered, foundOf, requireUsable } from './discovery.ts'
import {
  deleteIdentities,
  deleteProvider,
  endPasswordSessions,
  endSsoSessions,
  findProvider,
  insertProvider,
  listProviders,
  lockProvider,
  type ProviderRow,
  updateProvider,
} from './queries.ts'
import { requireDefaultRole, requireMembersCeiling } from './rules.ts'
import {
  type CreateProvider,
  defaultMapping,
  type Provider,
  type ProviderFilter,
  type UpdateProvider,
} from './schema.ts'
import { clientSecretPlace } from './secret.ts'
import { aboutProvider, shown } from './shown.ts'

type CreateCtx = Ctx<Record<string, never>, unknown, CreateProvider>
type UpdateCtx = Ctx<{ id: string }, unknown, UpdateProvider>

export const providersSeen = async ({ db, query, ports }: Ctx<unknown, ProviderFilter>, page: Page) =>
  (await listProviders(db, query, page)).map((row) => shown(ports, row))

/** Undefined (404) for one that the caller does not see. */
export async function oneProvider({ db, params, ports }: Ctx<{ id: string }>): Promise<Provider | undefined> {
  const row = await findProvider(db, params.id)
  return row && shown(ports, row)
}

/** Discovery is tried at once; a provider that does not answer is stored all the same, and cannot be activated. */
export const discoverNew = (ctx: CreateCtx): Promise<Discovered> =>
  discover(ctx, ctx.body.issuer, tenantOf(ctx))

/** What a body says of an organization is not checked yet: whose request it is says the caller's own membership. */
const tenantOf = ({ caller }: Pick<Ctx, 'caller'>): string => caller.membership?.id ?? 'the platform'

/**
 * A provider of an organization, `inactive` at first. Undefined (404) for an organization or role that the caller does not see.
 *
 * @throws ApiError 400 for a role of another owner, or none where one is needed; 403 for one that gives more than the caller holds
 */
export async function createProvider(ctx: CreateCtx, discovered: Discovered): Promise<Provider | undefined> {
  const { db, body, caller, actor, ports } = ctx
  await beginChange(db)
  const orgId = body.orgId ?? (caller.membership?.kind === 'organization' ? caller.membership.id : undefined)
  if (orgId === undefined) throw wrongField('orgId', 'is needed: the caller is no member of one organization')
  const partnerId = await partnerOfOrganization(db, orgId)
  if (partnerId === undefined || !(await requireDefaultRole(ctx, { ...body, orgId }))) return undefined
  const id = uuid()
  const { enforceSSO: enforceSso, clientSecret, attributeMapping, ...rest } = body
  const row = await insertProvider(db, {
    ...rest,
    ...foundOf(discovered, ports.clock.now()),
    id,
    partnerId,
    orgId,
    enforceSso,
    attributeMapping: changed(defaultMapping, attributeMapping),
    clientSecret: ports.secrets.seal(clientSecret, clientSecretPlace({ id, orgId })),
    createdBy: userBehind(actor) ?? null,
  })
  if (!row) throw new Error('a provider could not be stored')
  ctx.audited(
    aboutProvider(row, { issuer: row.issuer, clientId: row.clientId, discovered: 'metadata' in discovered }),
  )
  return shown(ports, row)
}

/** What of a change decides whom the organization believes to be who; of an active provider it is as good as another one. */
const decisive = [
  'issuer',
  'clientId',
  'clientSecret',
  'scopes',
  'attributeMapping',
  'allowedDomains',
  'trustsIdpMfa',
] as const
/** What voids a login that is under way. */
const voiding: readonly string[] = decisive.slice(0, 5)

export const discoverAnew = async (ctx: UpdateCtx): Promise<Discovered | undefined> =>
  ctx.body.issuer === undefined ? undefined : discover(ctx, ctx.body.issuer, tenantOf(ctx))

/**
 * What is left out stays. Undefined (404) for a provider or role that the caller does not see.
 *
 * @throws ApiError 400 for a role of another owner, or none where one is needed, or an issuer that an active provider cannot be used
 *   with; 403 for what goes beyond the caller's own rights
 */
export async function changeProvider(
  ctx: UpdateCtx,
  discovered: Discovered | undefined,
): Promise<Provider | undefined> {
  const { db, body, params, ports } = ctx
  await beginChange(db)
  const before = await lockProvider(db, params.id)
  if (!before) return undefined
  const { clientSecret, enforceSSO: enforceSso, attributeMapping, ...rest } = body
  const mapping = attributeMapping && changed(defaultMapping, attributeMapping)
  const wanted: ProviderRow = {
    ...changed<ProviderRow>(before, { ...rest, enforceSso, attributeMapping: mapping }),
    ...(discovered && foundOf(discovered, ports.clock.now())),
    configVersion: before.configVersion + (voiding.some((field) => field in body) ? 1 : 0),
  }
  const isRoleTouched = body.autoProvision === true || body.defaultRoleId !== undefined
  if (isRoleTouched && !(await requireDefaultRole(ctx, wanted))) return undefined
  if (before.status === 'active') await requireMayChangeActive(ctx, before, discovered)
  const secret =
    clientSecret === undefined ? undefined : ports.secrets.seal(clientSecret, clientSecretPlace(before))
  const after = await updateProvider(db, wanted, secret)
  if (!after) throw new Error(`provider ${before.id} vanished while its row was locked`)
  const ended = await endWhatChanged(ctx, before, after)
  ctx.audited(aboutProvider(after, { changed: Object.keys(body), ...ended }))
  return shown(ports, after)
}

async function requireMayChangeActive(
  ctx: UpdateCtx,
  before: ProviderRow,
  discovered: Discovered | undefined,
) {
  if (decisive.some((field) => ctx.body[field] !== undefined)) await requireMembersCeiling(ctx, before.orgId)
  if (ctx.body.issuer !== undefined) requireUsable(discovered)
}

/** A subject of one issuer is nobody at another; a second factor that is not trusted any more was none; and passwords end where they begin to count for nothing. */
async function endWhatChanged(
  { db, ports, after: later }: UpdateCtx,
  before: ProviderRow,
  after: ProviderRow,
) {
  const at = ports.clock.now()
  const isOther = before.issuer !== after.issuer
  const isDistrusted = before.trustsIdpMfa && !after.trustsIdpMfa
  const isEnforced = after.status === 'active' && after.enforceSso && !before.enforceSso
  if (isOther || isDistrusted || isEnforced) later(() => ports.callers.changed())
  const why = isOther ? 'issuer changed' : 'second factor not trusted any more'
  return {
    ...(isOther && { identitiesRemoved: await deleteIdentities(db, after.id) }),
    ...((isOther || isDistrusted) && { loginsEnded: await endSsoSessions(db, after.id, why, at) }),
    ...(isEnforced && {
      passwordLoginsEnded: await endPasswordSessions(db, after.orgId, 'single sign-on demanded', at),
    }),
  }
}

/**
 * With it go the identities that it knew and the logins that came through it; the accounts stay, and passwords count again. Undefined
 * (404) for one that the caller does not see.
 */
export async function removeProvider(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params, ports } = ctx
  await beginChange(db)
  const row = await lockProvider(db, params.id)
  if (!row) return undefined
  const loginsEnded = await endSsoSessions(db, row.id, 'provider deleted', ports.clock.now())
  const identitiesRemoved = await deleteIdentities(db, row.id)
  await deleteProvider(db, row.id)
  ctx.audited(aboutProvider(row, { status: row.status, identitiesRemoved, loginsEnded }))
  ctx.after(() => ports.callers.changed())
  return { success: true }
}
