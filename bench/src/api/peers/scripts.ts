import { deviceIdSql, type Place } from '../stage/devices.ts'

/**
 * The transaction of `createCommand` for pgbench, which draws the device. The server makes ids, as pgbench has no text of its own.
 * @param devices how many there are
 */
export const createScript = ({ userId }: Place, devices: number): string => `\\set n random(1, ${devices})
begin;
select d.id, d.partner_id, d.org_id, d.hostname from devices d where d.id = ${deviceIdSql(':n::int')} \\gset
insert into commands as c (id, partner_id, org_id, device_id, type, lane, args, issued_by, not_before, expires_at, timeout_ms, one_pending)
select uuidv7(), d.partner_id, d.org_id, d.id, 'list_processes', 'interactive', '{"limit": 10}', 'user:${userId}', now(),
  now() + interval '1 minute', 30000, false
from devices d where d.id = :id::uuid and d.lifecycle <> 'decommissioned' for share of d
on conflict (device_id, type) where one_pending and status in ('queued', 'delivered', 'running') do nothing
returning c.id as command_id, c.status \\gset
insert into outbox (id, partner_id, org_id, type, subject_id, payload)
values (uuidv7(), :partner_id::uuid, :org_id::uuid, 'command.queued', :id::uuid,
  jsonb_build_object('commandId', :command_id::text, 'deviceId', :id::text, 'type', 'list_processes', 'status', :status::text));
insert into audit_log (id, partner_id, org_id, actor_type, actor_id, actor_email, action, resource_type, resource_id, resource_name,
  result, details, ip, request_id)
values (uuidv7(), :partner_id::uuid, :org_id::uuid, 'user', '${userId}', 'admin@demo.example', 'device.command.send', 'device',
  :id::uuid, :hostname::text, 'success', jsonb_build_object('commandId', :command_id::text, 'command', 'list_processes'), '127.0.0.1',
  uuidv7());
commit;
`
