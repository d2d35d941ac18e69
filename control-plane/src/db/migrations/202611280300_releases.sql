set local role svc_owner;

-- What agents can be updated to. The same for every tenant: there is no partner in it, no policy, and nothing that a tenant may write.
create table svc.releases (
  id uuid primary key,
  version text not null unique check (length(version) between 5 and 60),
  sequence bigint not null unique,
  released_at timestamptz not null,
  expires_at timestamptz not null,
  notes text not null,
  manifest bytea not null,                 -- JSON, exactly as signed
  signature bytea not null,                -- Ed25519
  key_id text not null,
  created_at timestamptz not null default now()
);
create index releases_newest on svc.releases (created_at desc, id desc);
grant select, insert on svc.releases to svc_app, svc_worker;

create table svc.release_assets (
  release_id uuid not null references svc.releases (id),
  kind text not null check (kind in ('agent', 'helper')),
  os text not null check (os in ('linux', 'macos', 'windows')),
  arch text not null check (arch in ('amd64', 'arm64')),
  name text not null,
  size bigint not null check (size > 0),
  sha256 text not null check (length(sha256) = 64),
  url text,                                -- null: in BINARY_DIR
  is_latest boolean not null default false,
  primary key (release_id, kind, os, arch)
);
-- One is the latest for its target, and none of a pre-release.
create unique index release_assets_latest on svc.release_assets (kind, os, arch) where is_latest;
grant select, insert, update (is_latest) on svc.release_assets to svc_app, svc_worker;

-- The newest attempt to update one component of a device, and what stands in the way of the next.
create table svc.device_updates (
  device_id uuid not null,
  component text not null check (component in ('agent', 'helper')),
  partner_id uuid not null,
  org_id uuid not null,
  offered_version text,
  offered_at timestamptz,
  phase text not null default 'offered' check (phase in ('offered', 'downloading', 'verifying', 'backing_up', 'swapping',
    'restarting', 'done', 'rolled_back', 'failed')),
  from_version text,
  to_version text,
  reason text,
  reported_at timestamptz,                 -- when the phase was heard of, or given up
  -- What was heard last, and where it stands in the order of what the device says: connection, the gateway's time, the device's.
  said text,
  epoch bigint not null default 0,
  heard_ms bigint not null default 0,
  said_ms bigint not null default 0,
  failed_version text,
  failures integer not null default 0,
  failed_since timestamptz,
  primary key (device_id, component),
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on update cascade on delete cascade
);
create index device_updates_under_way on svc.device_updates (reported_at)
  where phase in ('downloading', 'verifying', 'backing_up', 'swapping', 'restarting');
call svc.tenant_table('svc.device_updates');
grant select on svc.device_updates to svc_app;
grant select, insert, update, delete on svc.device_updates to svc_worker;

-- Which configuration the device is to have. On the row that each heartbeat writes anyway: what that statement returns tells
-- whether the agent has the newest, at no further question.
alter table svc.device_presence add column config_version bigint not null default 1;
grant update (config_version) on svc.device_presence to svc_app;
