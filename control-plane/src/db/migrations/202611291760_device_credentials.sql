set local role svc_owner;

-- A device's next token, which it made itself: good beside the present one until it is used, and then instead of it.
alter table svc.devices
  add column next_token_sha256 bytea,
  add column next_token_at timestamptz,
  add column token_generation bigint not null default 1,  -- of the present token: it rises with each that is taken into use
  add column quarantined_at timestamptz,
  add column quarantine_reason text;
grant select (quarantined_at, quarantine_reason) on svc.devices to svc_app;

-- Tokens that were taken out of use by a later one: whoever shows one of them has a copy of the identity.
create table svc.device_past_tokens (
  device_id uuid not null,
  token_sha256 bytea not null,
  partner_id uuid not null,
  org_id uuid not null,
  generation bigint not null,
  retired_at timestamptz not null default now(),
  primary key (device_id, token_sha256),
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id)
    on update cascade on delete cascade
);
call svc.tenant_table('svc.device_past_tokens');
grant select, insert, delete on svc.device_past_tokens to svc_worker;

-- Which processes were connected as one device lately, and when one came back after another: two that do so in turn both live.
-- Written when another process connects than before, so by a fleet at rest never.
create table svc.device_instances (
  device_id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  epoch bigint not null,                   -- of the connection that was looked at last
  present text not null,                   -- the process that connected last; empty: one that gives no name
  unnamed_epoch bigint not null default 0, -- of a connection whose Hello has not come: over MQTT it follows
  unnamed_ms bigint not null default 0,
  earlier jsonb not null default '{}',     -- process -> ms since 1970 at which another took its place
  returns bigint[] not null default '{}',  -- ms since 1970
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id)
    on update cascade on delete cascade
);
call svc.tenant_table('svc.device_instances');
grant select, insert, update, delete on svc.device_instances to svc_worker;

-- A device that moves takes its presence along.
grant update (org_id) on svc.device_presence to svc_app;
-- The processes of a device that was released begin anew.
grant delete on svc.device_instances to svc_app;
grant select (device_id, partner_id, org_id) on svc.device_instances to svc_app;

-- A device that moves leaves its groups.
alter table svc.device_group_log drop constraint device_group_log_reason_check,
  add constraint device_group_log_reason_check check (reason in ('manual', 'moved'));
