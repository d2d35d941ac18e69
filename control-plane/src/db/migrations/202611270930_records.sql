set local role svc_owner;

-- Insert-only. A null partner is the system's own row, seen by scope "system" alone.
create table svc.audit_log (
  id uuid primary key,
  at timestamptz not null default now(),
  partner_id uuid,
  org_id uuid,
  actor_type text not null check (actor_type in ('user', 'api_key', 'device', 'system', 'anonymous')),
  actor_id uuid,
  actor_email text,
  action text not null,
  resource_type text,
  resource_id uuid,
  resource_name text,
  result text not null check (result in ('success', 'failure', 'denied')),
  details jsonb not null default '{}',
  ip inet,
  user_agent text,
  request_id text
);
create index audit_log_newest on svc.audit_log (partner_id, at desc, id desc);
call svc.tenant_table('svc.audit_log');
grant select, insert on svc.audit_log to svc_app, svc_worker;

-- Events, written in the transaction that made them true. Unrelayed ones are found by this partial index, never by a
-- high-water mark: identity order is not commit order.
create table svc.outbox (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid,
  type text not null,
  subject_id uuid not null,
  payload jsonb not null,
  at timestamptz not null default clock_timestamp(),  -- not now(): events of one subject are written one after the other, under its row's lock
  relayed_at timestamptz
);
create index outbox_owed on svc.outbox (at, id) where relayed_at is null;
create index outbox_relayed on svc.outbox (relayed_at) where relayed_at is not null;
call svc.tenant_table('svc.outbox');
grant select, insert on svc.outbox to svc_app;
grant select, insert, update, delete on svc.outbox to svc_worker;

-- The answer to a request that carried an Idempotency-Key (promise P10, decisions 41).
create table svc.idempotency (
  partner_id uuid not null,                -- all zeros: a request in scope "system"
  caller text not null,
  route text not null,
  key_hash bytea not null,
  body_hash bytea not null,
  status integer,
  answer bytea,
  sealed boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (partner_id, caller, route, key_hash)
);
create index idempotency_old on svc.idempotency (created_at);
-- A row is its caller's own, whatever organizations that caller sees: the partner alone decides.
alter table svc.idempotency enable row level security;
alter table svc.idempotency force row level security;
create policy tenant on svc.idempotency
  using ((select svc.scope_system()) or partner_id = (select svc.scope_partner()));
grant select, insert, update on svc.idempotency to svc_app;
grant select, delete on svc.idempotency to svc_worker;

-- Work that recurs: one row per schedule, leased by whoever runs it (engines §7).
create table svc.schedules (
  name text primary key,
  every_ms integer not null check (every_ms > 0),
  due_at timestamptz not null default now(),
  leased_by text,
  leased_until timestamptz,
  last_run_at timestamptz,
  last_error text
);
grant select, insert, update, delete on svc.schedules to svc_worker;
