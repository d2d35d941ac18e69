set local role svc_owner;

-- What is to happen at times that people chose, for one partner or organization. The every-few-seconds work of the server itself
-- stands in `schedules`.
create table svc.schedule_entries (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid,                                -- null: the partner's own
  key text not null check (length(key) between 1 and 255),  -- what it is for; planning the same again replaces it
  task text not null,
  payload jsonb not null,
  timing jsonb not null,                      -- once, every, cron or rule
  misfire text not null check (misfire in ('once', 'skip')),  -- of moments that nobody was there for: make up for them once, or not
  enabled boolean not null default true,
  due_at timestamptz,                         -- null: paused, or over
  ends_at timestamptz,
  runs_left integer check (runs_left >= 0),   -- null: no limit
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (partner_id, id),
  unique (partner_id, key)
);
create index schedule_entries_due on svc.schedule_entries (due_at) where due_at is not null;
call svc.tenant_table('svc.schedule_entries');
grant select, insert, update, delete on svc.schedule_entries to svc_app, svc_worker;

-- One row for each due moment that was acted upon, in the transaction that enqueues its task: it happens once, whoever wakes up.
create table svc.schedule_runs (
  schedule_id uuid not null,
  due_at timestamptz not null,
  partner_id uuid not null,
  org_id uuid,
  enqueued_at timestamptz not null default now(),
  primary key (schedule_id, due_at),
  foreign key (partner_id, schedule_id) references svc.schedule_entries (partner_id, id) on delete cascade
);
create index schedule_runs_age on svc.schedule_runs (enqueued_at);
call svc.tenant_table('svc.schedule_runs');
grant select on svc.schedule_runs to svc_app;
grant select, insert, delete on svc.schedule_runs to svc_worker;
