import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'

export interface NewCommand {
  type: string
  payload: postgres.JSONValue
}

/**
 * The transaction of `POST /devices/:id/commands`: the device is read, its row is share-locked under the command, the event and the audit row
 * are written beside it. Without scope, checks and policies.
 */
export function createCommand(
  sql: postgres.Sql,
  userId: string,
  deviceId: string,
  { type, payload }: NewCommand,
): Promise<object | undefined> {
  return sql.begin(async (tx) => {
    const [device] =
      await tx`select d.id, d.partner_id, d.org_id, d.hostname from devices d where d.id = ${deviceId}`
    if (!device) return undefined
    const [command] = await tx`
      insert into commands as c (id, partner_id, org_id, device_id, type, lane, args, issued_by, not_before, expires_at, timeout_ms,
        one_pending)
      select ${randomUUID()}, d.partner_id, d.org_id, d.id, ${type}, 'interactive', ${tx.json(payload)}, ${`user:${userId}`}, now(),
        now() + interval '1 minute', 30000, false
      from devices d where d.id = ${deviceId} and d.lifecycle <> 'decommissioned' for share of d
      on conflict (device_id, type) where one_pending and status in ('queued', 'delivered', 'running') do nothing
      returning c.id, c.device_id, c.type, c.status, c.expires_at, c.created_at`
    if (!command) return undefined
    const { partnerId, orgId, hostname } = device
    await tx`
      insert into outbox (id, partner_id, org_id, type, subject_id, payload)
      values (${randomUUID()}, ${partnerId}, ${orgId}, 'command.queued', ${deviceId},
        ${tx.json({ commandId: command['id'], deviceId, type, status: 'queued' })})`
    await tx`
      insert into audit_log (id, partner_id, org_id, actor_type, actor_id, actor_email, action, resource_type, resource_id, resource_name,
        result, details, ip, request_id)
      values (${randomUUID()}, ${partnerId}, ${orgId}, 'user', ${userId}, 'admin@demo.example', 'device.command.send', 'device',
        ${deviceId}, ${hostname}, 'success', ${tx.json({ commandId: command['id'], command: type })}, '127.0.0.1', ${randomUUID()})`
    return command
  }) as Promise<object | undefined>
}
