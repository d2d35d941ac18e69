import type { OidcError } from '../../../../adapters/oidc/oidc.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { beginChange } from '../../roles/tree/service.ts'
import { discover, type Discovered, foundOf, requireUsable } from './discovery.ts'
import {
  endPasswordSessions,
  endSsoSessions,
  findProvider,
  lockProvider,
  type ProviderRow,
  updateProvider,
} from './queries.ts'
import { requireDefaultRole, requireMembersCeiling, requireOnlyActive } from './rules.ts'
import type { Provider, ProviderStatus, SetStatus, TestedProvider } from './schema.ts'
import { aboutProvider, addressesOf, shown } from './shown.ts'

type StatusCtx = Ctx<{ id: string }, unknown, SetStatus>
type TestCtx = Ctx<{ id: string }>

/** Before the transaction: whoever is to be active is asked what it is, where that is not known yet. */
export async function discoverMissing(ctx: StatusCtx): Promise<Discovered | undefined> {
  if (ctx.body.status !== 'active') return undefined
  const row = await findProvider(ctx.db, ctx.params.id)
  return row && row.metadata === null ? discover(ctx, row.issuer, row.orgId) : undefined
}

/**
 * Any status from any (interface §SSO provider status). Logins that came through the provider end when it is not `active` any more;
 * those by password where it becomes so and demands it. Undefined (404) for one that the caller does not see.
 *
 * @throws ApiError 400 for a provider that cannot be used, 403 where a member holds more than the caller, 409 where another is active
 */
export async function setStatus(ctx: StatusCtx, discovered?: Discovered): Promise<Provider | undefined> {
  const { db, body, params, ports } = ctx
  await beginChange(db)
  const before = await lockProvider(db, params.id)
  if (!before) return undefined
  const found = before.metadata === null && discovered ? foundOf(discovered, ports.clock.now()) : {}
  const wanted = { ...before, ...found, status: body.status }
  if (body.status === 'active' && before.status !== 'active') {
    if (wanted.metadata === null) requireUsable(discovered)
    await requireMembersCeiling(ctx, before.orgId)
    await requireDefaultRole(ctx, { ...before, autoProvision: false })
    await requireOnlyActive(ctx, before)
  }
  const after = await updateProvider(db, wanted, undefined)
  if (!after) throw new Error(`provider ${before.id} vanished while its row was locked`)
  const ended = await endWhatStatusEnds(ctx, before.status, after)
  ctx.audited(aboutProvider(after, { from: before.status, to: after.status, ...ended }))
  return shown(ports, after)
}

async function endWhatStatusEnds(
  { db, ports, after: later }: StatusCtx,
  from: ProviderStatus,
  after: ProviderRow,
) {
  const at = ports.clock.now()
  if (from === after.status) return {}
  later(() => ports.callers.changed())
  if (from === 'active') return { loginsEnded: await endSsoSessions(db, after.id, 'provider not active', at) }
  return after.status === 'active' && after.enforceSso
    ? { passwordLoginsEnded: await endPasswordSessions(db, after.orgId, 'single sign-on demanded', at) }
    : {}
}

/** Before the transaction. Undefined: the caller sees no such provider. */
export async function discoverAgain(ctx: TestCtx): Promise<Discovered | undefined> {
  const row = await findProvider(ctx.db, ctx.params.id)
  return row && discover(ctx, row.issuer, row.orgId)
}

/** Discovery works or it does not: both are an answer. What it finds is kept. */
export async function testProvider(
  ctx: TestCtx,
  discovered?: Discovered,
): Promise<TestedProvider | undefined> {
  const { db, params, ports } = ctx
  const row = await lockProvider(db, params.id)
  if (!row || !discovered) return undefined
  const metadata = 'metadata' in discovered ? discovered.metadata : null
  // Of an issuer that was changed meanwhile nothing is known by this.
  if (metadata?.issuer === row.issuer)
    await updateProvider(db, { ...row, ...foundOf(discovered, ports.clock.now()) }, undefined)
  const error = 'failure' in discovered ? failureOf(discovered.failure) : null
  ctx.audited(aboutProvider(row, { success: error === null, ...(error && { reason: error.code }) }))
  return {
    success: error === null,
    error,
    issuer: row.issuer,
    ...addressesOf(metadata),
    algorithms: metadata?.id_token_signing_alg_values_supported ?? [],
  }
}

const failureOf = ({ code, message }: OidcError) =>
  ({ code: code === 'UNREACHABLE' ? 'UNREACHABLE' : 'METADATA', message }) as const
