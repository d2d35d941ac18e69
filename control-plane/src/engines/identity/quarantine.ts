import { writeAudit } from '../../kernel/audit.ts'
import { clientHere } from '../../kernel/client-here.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { type DeadCredential, endCredentials } from '../status/credentials.ts'
import { moveDevice } from '../status/move.ts'
import type { Status } from '../status/states.ts'
import { withdrawAll } from '../work/cancel.ts'

/** What a quarantine did. After the commit call `tellDead` and `tellFinished` with it. */
export interface Quarantined {
  deviceId: string
  before: Status
  dead: DeadCredential[]
  /** ids of commands that ended with it */
  withdrawn: string[]
}

/**
 * Cuts a device off until somebody releases it, in the caller's transaction: whoever is connected as it is turned out and told to wait,
 * and what was under way for it is withdrawn. Its token is good again when it is released. Undefined when the caller may not see it.
 *
 * @param why shown to whoever looks at the device, and with each command
 * @throws ApiError CONFLICT with `{from, to}` for a device that is quarantined or decommissioned
 */
export async function quarantine(db: Db, deviceId: string, why: string): Promise<Quarantined | undefined> {
  const moved = await moveDevice(db, deviceId, 'quarantined', { reason: why })
  if (!moved) return undefined
  await db.run`
    update devices d set quarantined_at = now(), quarantine_reason = ${why}
    where d.id = ${deviceId}::uuid and ${db.visibleDevice('d')}`
  const dead = await endCredentials(db, [deviceId], { reason: 'QUARANTINED', keepsToken: true })
  const withdrawn = await withdrawAll(db, [deviceId], `the device was quarantined: ${why}`)
  return { deviceId, before: moved.before, dead, withdrawn }
}

/**
 * As {@link quarantine}, on the word of the server itself, in scope `system`, with the audit row of it: undefined too where the device is
 * cut off already, for two may notice the same.
 */
export async function quarantineAlive(
  db: Db,
  deviceId: string,
  why: string,
): Promise<Quarantined | undefined> {
  const alive = await db.one<{ partnerId: string; orgId: string; name: string }>`
    select d.partner_id, d.org_id, d.hostname as name from devices d
    where d.id = ${deviceId}::uuid and d.lifecycle in ('pending', 'active') and ${db.visibleDevice('d')} for no key update`
  const done = alive && (await quarantine(db, deviceId, why))
  if (!done) return undefined
  const details = { from: done.before, reason: why, withdrawnCommands: done.withdrawn.length }
  writeAudit(db, {
    action: 'device.quarantine',
    result: 'success',
    actor: { type: 'system' },
    subject: { type: 'device', id: deviceId, ...alive, details },
    client: clientHere('control plane'),
    scope: db.scope,
    at: new Date(),
  })
  return done
}
