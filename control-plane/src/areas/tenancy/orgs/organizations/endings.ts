import { retireDevices, type Tenant, turnOut } from '../../../../engines/status/retire.ts'
import { tellFinished } from '../../../../engines/work/hints.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { revokeApiKeysOf } from '../../../access/api-keys/tenant/service.ts'
import { revokeEnrollmentKeysOf } from '../../../access/enrollment-keys/tenant/service.ts'
import { closeOrganizations, closeSites, endTenantSessions } from './queries.ts'

type Ending = Pick<Ctx, 'db' | 'ports' | 'after'>

/** Whatever process remembers somebody of the tenant asks again. */
function tellEverybody({ ports, after }: Ending): void {
  after(() => ports.callers.changed())
  after(() => ports.apiKeys.changed())
}

/** Logins end and devices are turned out; both come back when the tenant does. For the audit row. */
async function suspend(ctx: Ending, tenant: Tenant): Promise<{ devices: number }> {
  const { db, ports } = ctx
  await endTenantSessions(db, tenant.partnerId, tenant.orgId, 'tenant suspended', ports.clock.now())
  const devices = await turnOut(db, tenant)
  tellEverybody(ctx)
  return { devices }
}

/**
 * What a change of a tenant's status brings with it, for the audit row. One that goes on again has its people log in, and its devices
 * come back by themselves.
 */
export async function turn(ctx: Ending, tenant: Tenant, wasUsable: boolean, isUsable: boolean) {
  if (wasUsable && !isUsable) return suspend(ctx, tenant)
  if (!wasUsable && isUsable) tellEverybody(ctx)
  return {}
}

/**
 * Gives up an organization, or a partner with all of its organizations, in this transaction. Logins, API keys, enrollment keys and
 * devices' credentials die, commands are withdrawn; rows stay. What died, for the audit row; undefined when somebody else gave the
 * organization up meanwhile.
 */
export async function giveUp(ctx: Ending, tenant: Tenant) {
  const { db, ports, after } = ctx
  const { partnerId, orgId } = tenant
  // First of all, in the order in which an enrollment takes its locks: one that is under way is seen below, or finds its key dead.
  const enrollmentKeys = await revokeEnrollmentKeysOf(db, tenant)
  const organizations = await closeOrganizations(db, partnerId, orgId)
  if (orgId && organizations === 0) return undefined
  const what = orgId ? 'organization' : 'partner'
  const apiKeys = await revokeApiKeysOf(db, tenant)
  const { devices, commands } = await retireDevices(db, tenant, `the ${what} was deleted`)
  await closeSites(db, partnerId, orgId)
  await endTenantSessions(db, partnerId, orgId, 'tenant deleted', ports.clock.now())
  tellEverybody(ctx)
  after(() => tellFinished(ports.bus, commands))
  return { devices, withdrawnCommands: commands.length, enrollmentKeys, apiKeys }
}
