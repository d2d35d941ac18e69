import { deliver } from '../../../../engines/work/deliver.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { renewConfig, updateAutoUpdate } from './queries.ts'
import type { AutoUpdateSet, SetAutoUpdate } from './schema.ts'

/**
 * Turns self-update on or off. The agent is told at once where it is connected; whatever becomes of that, it is told again with
 * each heartbeat that reports an older configuration, and keeps the answer over restarts (interface §Devices).
 *
 * @throws ApiError CONFLICT `{from, to}` for a decommissioned device
 */
export async function setAutoUpdate(
  ctx: Ctx<{ id: string }, unknown, SetAutoUpdate>,
): Promise<AutoUpdateSet | undefined> {
  const { db, params, ports } = ctx
  const { enabled } = ctx.body
  const configured = await renewConfig(db, params.id)
  const device = configured && (await updateAutoUpdate(db, params.id, enabled))
  if (!device) return undefined
  const { partnerId, orgId, hostname, status } = device
  if (status === 'decommissioned')
    throw new ApiError('CONFLICT', 'the device is decommissioned', {
      details: [{ from: status, to: status }],
    })
  ctx.audited({ type: 'device', id: params.id, name: hostname, partnerId, orgId, details: { enabled } })
  const { configVersion: version, node, epoch } = configured
  if (node !== null) {
    const to = { deviceId: params.id, node, epoch }
    ctx.after(() => deliver(ports.bus, to, { configUpdate: { version, autoUpdate: enabled } }))
  }
  return { success: true, enabled, configVersion: version }
}
