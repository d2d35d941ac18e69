set local role svc_owner;

create table svc.enrollment_keys (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  site_id uuid not null,
  name text not null check (length(name) between 1 and 255),
  key_hash bytea not null unique,
  max_usage integer check (max_usage between 1 and 100000),  -- null: unlimited
  usage_count integer not null default 0,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  created_by uuid,
  created_at timestamptz not null default now(),
  foreign key (partner_id, org_id, site_id) references svc.sites (partner_id, org_id, id),
  check (max_usage is null or usage_count <= max_usage)
);
create index enrollment_keys_newest on svc.enrollment_keys (partner_id, created_at desc, id desc);
call svc.tenant_table('svc.enrollment_keys');
-- Everything but the hash.
grant select (id, partner_id, org_id, site_id, name, max_usage, usage_count, expires_at, revoked_at, created_by, created_at)
  on svc.enrollment_keys to svc_app;
grant insert, update on svc.enrollment_keys to svc_app;
grant select, insert, update, delete on svc.enrollment_keys to svc_worker;

-- Four independent facts (lifecycle, connectivity, activity, maintenance); `status` is their projection and is computed here
-- and nowhere else (engines §8).
create table svc.devices (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  site_id uuid not null,
  hostname text not null check (length(hostname) between 1 and 255),
  -- What lists sort by are plain columns: an expression over a function that is not leakproof (lower, coalesce) is never an index
  -- condition under row-level security. "C": the same order on every host and after every upgrade of its locales.
  hostname_key text collate "C" not null generated always as (lower(hostname)) stored,
  display_name text check (length(display_name) <= 255),
  os_type text not null check (os_type in ('windows', 'macos', 'linux')),
  os_name text,
  os_version text,
  os_build text,
  architecture text,
  agent_version text,
  helper_version text,
  watchdog_version text,
  device_role text not null default 'unknown' check (device_role in ('workstation', 'server', 'printer', 'router', 'switch',
    'firewall', 'access_point', 'phone', 'iot', 'camera', 'nas', 'unknown')),
  tags text[] not null default '{}',
  custom_fields jsonb not null default '{}',
  auto_update_enabled boolean not null default true,
  is_virtual boolean,
  virtualization_platform text,
  boot_id text,
  pending_reboot boolean not null default false,
  last_user text,
  last_seen_ip inet,
  enrollment_ip inet,
  enrollment_key_id uuid,
  enrolled_at timestamptz,
  enrolled_rank timestamptz not null generated always as (coalesce(enrolled_at, '-infinity'::timestamptz)) stored,
  lifecycle text not null default 'active' check (lifecycle in ('pending', 'active', 'quarantined', 'decommissioned')),
  connectivity text not null default 'offline' check (connectivity in ('online', 'offline')),
  activity text not null default 'none' check (activity in ('none', 'updating')),
  in_maintenance boolean not null default false,
  status text not null generated always as (case
    when lifecycle <> 'active' then lifecycle
    when activity = 'updating' then 'updating'
    when in_maintenance then 'maintenance'
    else connectivity end) stored,
  -- Last contact, frozen when the device went offline: what `sort=lastSeen` orders by. The hot heartbeat row keeps no index (decisions 21).
  offline_seen_at timestamptz,
  last_seen_rank timestamptz not null generated always as (case
    when connectivity = 'online' then 'infinity'::timestamptz
    else coalesce(offline_seen_at, '-infinity'::timestamptz) end) stored,
  main_agent_silent_since timestamptz,
  watchdog_status text check (watchdog_status in ('connected', 'failover', 'offline')),
  decommissioned_at timestamptz,
  credential_version bigint not null default 1,
  token_sha256 bytea,                      -- null: no credential
  token_issued_at timestamptz,
  public_key bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (partner_id, org_id, id),
  foreign key (partner_id, org_id, site_id) references svc.sites (partner_id, org_id, id)
);
create index devices_hostname on svc.devices (partner_id, hostname_key, id);
create index devices_last_seen on svc.devices (partner_id, last_seen_rank, id);
create index devices_enrolled on svc.devices (partner_id, enrolled_rank, id);
create index devices_org on svc.devices (partner_id, org_id, hostname_key, id);
create index devices_site on svc.devices (site_id);
create index devices_online on svc.devices (id) where connectivity = 'online' or activity = 'updating';
call svc.tenant_table('svc.devices');
-- Everything but the credential.
grant select (id, partner_id, org_id, site_id, hostname, hostname_key, display_name, os_type, os_name, os_version, os_build,
  architecture, agent_version, helper_version, watchdog_version, device_role, tags, custom_fields, auto_update_enabled, is_virtual,
  virtualization_platform, boot_id, pending_reboot, last_user, last_seen_ip, enrollment_ip, enrollment_key_id, enrolled_at,
  enrolled_rank, lifecycle, connectivity, activity, in_maintenance, status, offline_seen_at, last_seen_rank, main_agent_silent_since,
  watchdog_status, decommissioned_at, credential_version, token_issued_at, created_at, updated_at)
  on svc.devices to svc_app;
grant insert, update on svc.devices to svc_app;
grant select, insert, update, delete on svc.devices to svc_worker;

-- The hot row: written by every heartbeat, no secondary index, no foreign key, room for HOT updates (architecture §6).
create table svc.device_presence (
  device_id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  epoch bigint not null default 0,
  last_seen_at timestamptz,
  node text,                               -- null: no live connection
  cpu_percent real,
  ram_percent real,
  disk_percent real,
  uptime_seconds bigint
) with (fillfactor = 50);
call svc.tenant_table('svc.device_presence');
grant select on svc.device_presence to svc_app;
grant insert on svc.device_presence to svc_app;
grant select, insert, update, delete on svc.device_presence to svc_worker;

create table svc.device_hardware (
  device_id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  cpu_model text,
  cpu_cores integer,
  cpu_threads integer,
  ram_total_bytes bigint,
  disk_total_bytes bigint,
  serial_number text,
  manufacturer text,
  model text,
  bios_version text,
  gpu_model text,
  collected_at timestamptz not null,
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on update cascade on delete cascade
);
call svc.tenant_table('svc.device_hardware');
grant select on svc.device_hardware to svc_app;
grant select, insert, update, delete on svc.device_hardware to svc_worker;

create table svc.device_disks (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  mount_point text not null,
  device text,
  fs_type text,
  total_bytes bigint not null,
  used_bytes bigint not null,
  free_bytes bigint not null,
  collected_at timestamptz not null,
  primary key (device_id, mount_point),
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on update cascade on delete cascade
);
call svc.tenant_table('svc.device_disks');
grant select on svc.device_disks to svc_app;
grant select, insert, update, delete on svc.device_disks to svc_worker;

-- What is known of each kind of inventory, so that an unchanged one is acknowledged without a write.
create table svc.device_inventory (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  kind text not null,
  hash bytea not null,
  collected_at timestamptz not null,
  received_at timestamptz not null,
  primary key (device_id, kind),
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on update cascade on delete cascade
);
call svc.tenant_table('svc.device_inventory');
grant select on svc.device_inventory to svc_app;
grant select, insert, update, delete on svc.device_inventory to svc_worker;

-- Static membership only; the groups area brings rules and pins. Needed now for `GET /devices?groupIds=`.
create table svc.device_groups (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null check (length(name) between 1 and 255),
  kind text not null default 'static' check (kind in ('static', 'dynamic')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (partner_id, org_id, id),
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id)
);
call svc.tenant_table('svc.device_groups');
grant select on svc.device_groups to svc_app;
grant select, insert, update, delete on svc.device_groups to svc_worker;

create table svc.device_group_members (
  group_id uuid not null,
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  added_at timestamptz not null default now(),
  primary key (group_id, device_id),
  foreign key (partner_id, org_id, group_id) references svc.device_groups (partner_id, org_id, id) on delete cascade,
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on delete cascade
);
create index device_group_members_device on svc.device_group_members (device_id);
call svc.tenant_table('svc.device_group_members');
grant select on svc.device_group_members to svc_app;
grant select, insert, update, delete on svc.device_group_members to svc_worker;
