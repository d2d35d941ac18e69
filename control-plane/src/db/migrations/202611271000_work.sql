set local role svc_owner;

-- One device, one thing to do. States: control-plane/src/engines/work/states.ts. History keeps the organization it happened in.
create table svc.commands (
  id uuid primary key,
  seq bigint generated always as identity,
  partner_id uuid not null,
  org_id uuid not null,
  device_id uuid not null,
  type text not null,
  lane text not null check (lane in ('interactive', 'work', 'bulk')),
  args jsonb not null,
  status text not null default 'queued' check (status in ('queued', 'delivered', 'running', 'succeeded', 'failed', 'timed_out',
    'cancelled', 'expired', 'rejected', 'interrupted')),
  issued_by text not null,                 -- user:<id> | api-key:<id> | system
  created_at timestamptz not null default now(),
  not_before timestamptz not null default now(),
  expires_at timestamptz not null,
  timeout_ms integer not null check (timeout_ms > 0),
  attempt integer not null default 0,      -- how often it was offered
  lease_until timestamptz,                 -- offered, not yet acknowledged: nobody else offers it before this …
  offered_epoch bigint,                    -- … unless the connection it was offered on has been replaced by a newer one
  cancel_requested_at timestamptz,
  delivered_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  deadline_at timestamptz,                 -- once delivered: the server ends it then (promise P4)
  exit_code integer,
  stdout bytea,
  stdout_encoding text,
  stdout_size bigint,                      -- what the device produced; more than is kept when truncated
  stdout_truncated boolean,
  stderr bytea,
  stderr_encoding text,
  stderr_size bigint,
  stderr_truncated boolean,
  result jsonb,
  error text,
  result_at timestamptz,                   -- when the device's own result came in; null: the server ended it
  late_result jsonb,                       -- arrived after the server had ended it: kept, changes nothing
  one_pending boolean not null default false, -- of a type that a device may have pending once only
  -- Something to say to the device: the command itself, or that it is cancelled (decisions 37).
  owed boolean not null generated always as (status = 'queued'
    or (status in ('delivered', 'running') and cancel_requested_at is not null)) stored
);
create index commands_owed on svc.commands (device_id) where owed;
create index commands_device on svc.commands (device_id, created_at desc, id desc);
create index commands_in_flight on svc.commands (device_id, lane) where status in ('queued', 'delivered', 'running');
create index commands_expiry on svc.commands (expires_at) where status = 'queued';
create index commands_deadline on svc.commands (deadline_at) where status in ('delivered', 'running');
-- One pending inventory per device (interface §Errors: 409 ALREADY_PENDING), whoever asks at the same moment.
create unique index commands_one_pending on svc.commands (device_id, type)
  where one_pending and status in ('queued', 'delivered', 'running');
call svc.tenant_table('svc.commands');
grant select, insert, update on svc.commands to svc_app, svc_worker;
grant delete on svc.commands to svc_worker;
