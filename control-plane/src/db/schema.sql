-- Read back from a migrated database by `npm run golden`. Nothing runs this file.

-- tables

create table svc.access_review_items (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  review_id uuid not null,
  "position" integer not null,
  user_id uuid not null,
  user_name text not null,
  user_email text not null,
  last_active_at timestamp with time zone,
  member_org uuid,
  member_since timestamp with time zone not null,
  role_id uuid not null,
  role_name text not null,
  permissions text[] not null,
  decision text not null default 'pending'::text,
  notes text,
  reviewed_at timestamp with time zone,
  reviewed_by uuid,
  constraint access_review_items_check CHECK ((((decision = 'pending'::text) = (reviewed_at IS NULL)) AND ((reviewed_at IS NULL) = (reviewed_by IS NULL)))),
  constraint access_review_items_decision_check CHECK ((decision = ANY (ARRAY['pending'::text, 'approved'::text, 'revoked'::text]))),
  constraint access_review_items_notes_check CHECK ((length(notes) <= 2000)),
  constraint access_review_items_partner_id_review_id_fkey FOREIGN KEY (partner_id, review_id) REFERENCES svc.access_reviews(partner_id, id),
  constraint access_review_items_reviewed_by_fkey FOREIGN KEY (reviewed_by) REFERENCES svc.users(id),
  constraint access_review_items_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id),
  constraint access_review_items_pkey PRIMARY KEY (id),
  constraint access_review_items_review_id_position_key UNIQUE (review_id, "position")
);
alter table svc.access_review_items enable row level security;
alter table svc.access_review_items force row level security;

create table svc.access_reviews (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  name text not null,
  description text,
  status text not null default 'pending'::text,
  reviewer_id uuid not null,
  created_by uuid not null,
  item_count integer not null,
  due_date timestamp with time zone,
  completed_at timestamp with time zone,
  completed_by uuid,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint access_reviews_check CHECK (((status = 'completed'::text) = ((completed_at IS NOT NULL) AND (completed_by IS NOT NULL)))),
  constraint access_reviews_description_check CHECK ((length(description) <= 2000)),
  constraint access_reviews_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint access_reviews_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'completed'::text]))),
  constraint access_reviews_completed_by_fkey FOREIGN KEY (completed_by) REFERENCES svc.users(id),
  constraint access_reviews_created_by_fkey FOREIGN KEY (created_by) REFERENCES svc.users(id),
  constraint access_reviews_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES svc.partners(id),
  constraint access_reviews_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint access_reviews_reviewer_id_fkey FOREIGN KEY (reviewer_id) REFERENCES svc.users(id),
  constraint access_reviews_pkey PRIMARY KEY (id),
  constraint access_reviews_partner_id_id_key UNIQUE (partner_id, id)
);
alter table svc.access_reviews enable row level security;
alter table svc.access_reviews force row level security;

create table svc.api_keys (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  member_org uuid,
  name text not null,
  prefix text not null,
  key_hash bytea not null,
  scopes text[] not null,
  rate_limit integer not null,
  ip_allowlist text[],
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  generation integer not null default 1,
  usage_count bigint not null default 0,
  last_used_at timestamp with time zone,
  created_by uuid not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint api_keys_check CHECK (((member_org IS NULL) OR (member_org = org_id))),
  constraint api_keys_ip_allowlist_check CHECK ((cardinality(ip_allowlist) > 0)),
  constraint api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint api_keys_rate_limit_check CHECK (((rate_limit >= 1) AND (rate_limit <= 100000))),
  constraint api_keys_scopes_check CHECK ((cardinality(scopes) > 0)),
  constraint api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES svc.users(id),
  constraint api_keys_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES svc.partners(id),
  constraint api_keys_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_key_hash_key UNIQUE (key_hash),
  constraint api_keys_prefix_key UNIQUE (prefix)
);
alter table svc.api_keys enable row level security;
alter table svc.api_keys force row level security;

create table svc.audit_heads_owed (
  partner uuid not null,
  seq bigint not null,
  hash bytea not null,
  constraint audit_heads_owed_pkey PRIMARY KEY (partner, seq)
);

create table svc.audit_log (
  id uuid not null,
  at timestamp with time zone not null default now(),
  partner_id uuid,
  org_id uuid,
  actor_type text not null,
  actor_id uuid,
  actor_email text,
  action text not null,
  resource_type text,
  resource_id uuid,
  resource_name text,
  result text not null,
  details jsonb not null default '{}'::jsonb,
  ip inet,
  user_agent text,
  request_id text,
  on_behalf_of uuid,
  constraint audit_log_actor_type_check CHECK ((actor_type = ANY (ARRAY['user'::text, 'api_key'::text, 'device'::text, 'system'::text, 'anonymous'::text]))),
  constraint audit_log_result_check CHECK ((result = ANY (ARRAY['success'::text, 'failure'::text, 'denied'::text]))),
  constraint audit_log_pkey PRIMARY KEY (id)
);
alter table svc.audit_log enable row level security;
alter table svc.audit_log force row level security;

create table svc.audit_seal (
  partner uuid not null,
  seq bigint not null,
  audit_id uuid not null,
  hash bytea not null,
  constraint audit_seal_hash_check CHECK ((length(hash) = 32)),
  constraint audit_seal_seq_check CHECK ((seq > 0)),
  constraint audit_seal_pkey PRIMARY KEY (partner, seq),
  constraint audit_seal_audit_id_key UNIQUE (audit_id)
);
alter table svc.audit_seal enable row level security;
alter table svc.audit_seal force row level security;

create table svc.audit_unsealed (
  audit_id uuid not null,
  constraint audit_unsealed_pkey PRIMARY KEY (audit_id)
);

create table svc.audit_words (
  audit_id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  words tsvector not null,
  at timestamp with time zone not null,
  constraint audit_words_pkey PRIMARY KEY (audit_id)
);

create table svc.base_backup (
  only_one boolean not null default true,
  name text not null,
  finished_at timestamp with time zone not null default now(),
  constraint base_backup_only_one_check CHECK (only_one),
  constraint base_backup_pkey PRIMARY KEY (only_one)
);

create table svc.commands (
  id uuid not null,
  seq bigint not null generated always as identity,
  partner_id uuid not null,
  org_id uuid not null,
  device_id uuid not null,
  type text not null,
  lane text not null,
  args jsonb not null,
  status text not null default 'queued'::text,
  issued_by text not null,
  created_at timestamp with time zone not null default now(),
  not_before timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  timeout_ms integer not null,
  attempt integer not null default 0,
  lease_until timestamp with time zone,
  offered_epoch bigint,
  cancel_requested_at timestamp with time zone,
  delivered_at timestamp with time zone,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  deadline_at timestamp with time zone,
  exit_code integer,
  stdout bytea,
  stdout_encoding text,
  stdout_size bigint,
  stdout_truncated boolean,
  stderr bytea,
  stderr_encoding text,
  stderr_size bigint,
  stderr_truncated boolean,
  result jsonb,
  error text,
  result_at timestamp with time zone,
  late_result jsonb,
  one_pending boolean not null default false,
  owed boolean not null generated always as (((status = 'queued'::text) OR ((status = ANY (ARRAY['delivered'::text, 'running'::text])) AND (cancel_requested_at IS NOT NULL)))) stored,
  traceparent text,
  request_id text,
  constraint commands_lane_check CHECK ((lane = ANY (ARRAY['interactive'::text, 'work'::text, 'bulk'::text]))),
  constraint commands_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'delivered'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'timed_out'::text, 'cancelled'::text, 'expired'::text, 'rejected'::text, 'interrupted'::text]))),
  constraint commands_timeout_ms_check CHECK ((timeout_ms > 0)),
  constraint commands_pkey PRIMARY KEY (id)
);
alter table svc.commands enable row level security;
alter table svc.commands force row level security;

create table svc.database_lives (
  number bigint not null,
  identity text not null,
  began_at timestamp with time zone not null default now(),
  ask_until timestamp with time zone,
  details jsonb not null default '{}'::jsonb,
  told_at timestamp with time zone,
  constraint database_lives_pkey PRIMARY KEY (number),
  constraint database_lives_identity_key UNIQUE (identity)
);

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
  collected_at timestamp with time zone not null,
  constraint device_disks_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_disks_pkey PRIMARY KEY (device_id, mount_point)
);
alter table svc.device_disks enable row level security;
alter table svc.device_disks force row level security;

create table svc.device_group_log (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  group_id uuid not null,
  device_id uuid not null,
  action text not null,
  reason text not null,
  created_at timestamp with time zone not null default now(),
  constraint device_group_log_action_check CHECK ((action = ANY (ARRAY['added'::text, 'removed'::text]))),
  constraint device_group_log_reason_check CHECK ((reason = ANY (ARRAY['manual'::text, 'moved'::text]))),
  constraint device_group_log_partner_id_org_id_group_id_fkey FOREIGN KEY (partner_id, org_id, group_id) REFERENCES svc.device_groups(partner_id, org_id, id) ON DELETE CASCADE,
  constraint device_group_log_pkey PRIMARY KEY (id)
);
alter table svc.device_group_log enable row level security;
alter table svc.device_group_log force row level security;

create table svc.device_group_members (
  group_id uuid not null,
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  added_at timestamp with time zone not null default now(),
  constraint device_group_members_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON DELETE CASCADE,
  constraint device_group_members_partner_id_org_id_group_id_fkey FOREIGN KEY (partner_id, org_id, group_id) REFERENCES svc.device_groups(partner_id, org_id, id) ON DELETE CASCADE,
  constraint device_group_members_pkey PRIMARY KEY (group_id, device_id)
);
alter table svc.device_group_members enable row level security;
alter table svc.device_group_members force row level security;

create table svc.device_groups (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null,
  kind text not null default 'static'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint device_groups_kind_check CHECK ((kind = ANY (ARRAY['static'::text, 'dynamic'::text]))),
  constraint device_groups_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint device_groups_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint device_groups_pkey PRIMARY KEY (id),
  constraint device_groups_partner_id_org_id_id_key UNIQUE (partner_id, org_id, id)
);
alter table svc.device_groups enable row level security;
alter table svc.device_groups force row level security;

create table svc.device_hardware (
  device_id uuid not null,
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
  collected_at timestamp with time zone not null,
  constraint device_hardware_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_hardware_pkey PRIMARY KEY (device_id)
);
alter table svc.device_hardware enable row level security;
alter table svc.device_hardware force row level security;

create table svc.device_instances (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  epoch bigint not null,
  present text not null,
  unnamed_epoch bigint not null default 0,
  unnamed_ms bigint not null default 0,
  earlier jsonb not null default '{}'::jsonb,
  returns bigint[] not null default '{}'::bigint[],
  constraint device_instances_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_instances_pkey PRIMARY KEY (device_id)
);
alter table svc.device_instances enable row level security;
alter table svc.device_instances force row level security;

create table svc.device_inventory (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  kind text not null,
  hash bytea not null,
  collected_at timestamp with time zone not null,
  received_at timestamp with time zone not null,
  constraint device_inventory_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_inventory_pkey PRIMARY KEY (device_id, kind)
);
alter table svc.device_inventory enable row level security;
alter table svc.device_inventory force row level security;

create table svc.device_network_interfaces (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null,
  mac_address text,
  addresses text[] not null default '{}'::text[],
  state text not null,
  mtu integer,
  speed_mbps bigint,
  is_primary boolean not null default false,
  constraint device_network_interfaces_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_network_interfaces_pkey PRIMARY KEY (device_id, name)
);
alter table svc.device_network_interfaces enable row level security;
alter table svc.device_network_interfaces force row level security;

create table svc.device_networks (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  default_gateway text,
  dns_servers text[] not null default '{}'::text[],
  collected_at timestamp with time zone not null,
  constraint device_networks_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_networks_pkey PRIMARY KEY (device_id)
);
alter table svc.device_networks enable row level security;
alter table svc.device_networks force row level security;

create table svc.device_past_tokens (
  device_id uuid not null,
  token_sha256 bytea not null,
  partner_id uuid not null,
  org_id uuid not null,
  generation bigint not null,
  retired_at timestamp with time zone not null default now(),
  constraint device_past_tokens_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_past_tokens_pkey PRIMARY KEY (device_id, token_sha256)
);
alter table svc.device_past_tokens enable row level security;
alter table svc.device_past_tokens force row level security;

create table svc.device_presence (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  epoch bigint not null default 0,
  last_seen_at timestamp with time zone,
  node text,
  cpu_percent real,
  ram_percent real,
  disk_percent real,
  uptime_seconds bigint,
  config_version bigint not null default 1,
  reconnects integer not null default 0,
  reconnects_since timestamp with time zone,
  reconnected_at timestamp with time zone,
  watchdog_seen_at timestamp with time zone,
  constraint device_presence_pkey PRIMARY KEY (device_id)
) with (fillfactor=50);
alter table svc.device_presence enable row level security;
alter table svc.device_presence force row level security;

create table svc.device_software (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null,
  source text not null,
  architecture text not null,
  instance smallint not null,
  version text not null,
  vendor text,
  installed_at timestamp with time zone,
  reported_at timestamp with time zone not null,
  constraint device_software_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_software_pkey PRIMARY KEY (device_id, name, source, architecture, instance)
);
alter table svc.device_software enable row level security;
alter table svc.device_software force row level security;

create table svc.device_updates (
  device_id uuid not null,
  component text not null,
  partner_id uuid not null,
  org_id uuid not null,
  offered_version text,
  offered_at timestamp with time zone,
  phase text not null default 'offered'::text,
  from_version text,
  to_version text,
  reason text,
  reported_at timestamp with time zone,
  said text,
  epoch bigint not null default 0,
  heard_ms bigint not null default 0,
  said_ms bigint not null default 0,
  failed_version text,
  failures integer not null default 0,
  failed_since timestamp with time zone,
  constraint device_updates_component_check CHECK ((component = ANY (ARRAY['agent'::text, 'helper'::text]))),
  constraint device_updates_phase_check CHECK ((phase = ANY (ARRAY['offered'::text, 'downloading'::text, 'verifying'::text, 'backing_up'::text, 'swapping'::text, 'restarting'::text, 'done'::text, 'rolled_back'::text, 'failed'::text]))),
  constraint device_updates_partner_id_org_id_device_id_fkey FOREIGN KEY (partner_id, org_id, device_id) REFERENCES svc.devices(partner_id, org_id, id) ON UPDATE CASCADE ON DELETE CASCADE,
  constraint device_updates_pkey PRIMARY KEY (device_id, component)
);
alter table svc.device_updates enable row level security;
alter table svc.device_updates force row level security;

create table svc.devices (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  site_id uuid not null,
  hostname text not null,
  hostname_key text not null generated always as (lower(hostname)) stored,
  display_name text,
  os_type text not null,
  os_name text,
  os_version text,
  os_build text,
  architecture text,
  agent_version text,
  helper_version text,
  watchdog_version text,
  device_role text not null default 'unknown'::text,
  tags text[] not null default '{}'::text[],
  custom_fields jsonb not null default '{}'::jsonb,
  auto_update_enabled boolean not null default true,
  is_virtual boolean,
  virtualization_platform text,
  boot_id text,
  pending_reboot boolean not null default false,
  last_user text,
  last_seen_ip inet,
  enrollment_ip inet,
  enrollment_key_id uuid,
  enrolled_at timestamp with time zone,
  enrolled_rank timestamp with time zone not null generated always as (COALESCE(enrolled_at, '-infinity'::timestamp with time zone)) stored,
  lifecycle text not null default 'active'::text,
  connectivity text not null default 'offline'::text,
  activity text not null default 'none'::text,
  in_maintenance boolean not null default false,
  status text not null generated always as (
CASE
    WHEN (lifecycle <> 'active'::text) THEN lifecycle
    WHEN (activity = 'updating'::text) THEN 'updating'::text
    WHEN in_maintenance THEN 'maintenance'::text
    ELSE connectivity
END) stored,
  offline_seen_at timestamp with time zone,
  last_seen_rank timestamp with time zone not null generated always as (
CASE
    WHEN (connectivity = 'online'::text) THEN 'infinity'::timestamp with time zone
    ELSE COALESCE(offline_seen_at, '-infinity'::timestamp with time zone)
END) stored,
  main_agent_silent_since timestamp with time zone,
  watchdog_status text,
  decommissioned_at timestamp with time zone,
  credential_version bigint not null default 1,
  token_sha256 bytea,
  token_issued_at timestamp with time zone,
  public_key bytea,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  flapping_since timestamp with time zone,
  connectivity_told text,
  next_token_sha256 bytea,
  next_token_at timestamp with time zone,
  token_generation bigint not null default 1,
  quarantined_at timestamp with time zone,
  quarantine_reason text,
  constraint devices_activity_check CHECK ((activity = ANY (ARRAY['none'::text, 'updating'::text]))),
  constraint devices_connectivity_check CHECK ((connectivity = ANY (ARRAY['online'::text, 'offline'::text]))),
  constraint devices_connectivity_told_check CHECK ((connectivity_told = ANY (ARRAY['online'::text, 'offline'::text]))),
  constraint devices_device_role_check CHECK ((device_role = ANY (ARRAY['workstation'::text, 'server'::text, 'printer'::text, 'router'::text, 'switch'::text, 'firewall'::text, 'access_point'::text, 'phone'::text, 'iot'::text, 'camera'::text, 'nas'::text, 'unknown'::text]))),
  constraint devices_display_name_check CHECK ((length(display_name) <= 255)),
  constraint devices_hostname_check CHECK (((length(hostname) >= 1) AND (length(hostname) <= 255))),
  constraint devices_lifecycle_check CHECK ((lifecycle = ANY (ARRAY['pending'::text, 'active'::text, 'quarantined'::text, 'decommissioned'::text]))),
  constraint devices_os_type_check CHECK ((os_type = ANY (ARRAY['windows'::text, 'macos'::text, 'linux'::text]))),
  constraint devices_watchdog_status_check CHECK ((watchdog_status = ANY (ARRAY['connected'::text, 'failover'::text, 'offline'::text]))),
  constraint devices_partner_id_org_id_site_id_fkey FOREIGN KEY (partner_id, org_id, site_id) REFERENCES svc.sites(partner_id, org_id, id),
  constraint devices_pkey PRIMARY KEY (id),
  constraint devices_partner_id_org_id_id_key UNIQUE (partner_id, org_id, id)
);
alter table svc.devices enable row level security;
alter table svc.devices force row level security;

create table svc.edge_watermarks (
  shard smallint not null,
  node text not null,
  since timestamp with time zone not null,
  through timestamp with time zone not null,
  constraint edge_watermarks_pkey PRIMARY KEY (shard, node)
);

create table svc.enrollment_keys (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  site_id uuid not null,
  name text not null,
  key_hash bytea not null,
  max_usage integer,
  usage_count integer not null default 0,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  created_by uuid,
  created_at timestamp with time zone not null default now(),
  constraint enrollment_keys_check CHECK (((max_usage IS NULL) OR (usage_count <= max_usage))),
  constraint enrollment_keys_max_usage_check CHECK (((max_usage >= 1) AND (max_usage <= 100000))),
  constraint enrollment_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint enrollment_keys_partner_id_org_id_site_id_fkey FOREIGN KEY (partner_id, org_id, site_id) REFERENCES svc.sites(partner_id, org_id, id),
  constraint enrollment_keys_pkey PRIMARY KEY (id),
  constraint enrollment_keys_key_hash_key UNIQUE (key_hash)
);
alter table svc.enrollment_keys enable row level security;
alter table svc.enrollment_keys force row level security;

create table svc.gateway_nodes (
  node text not null,
  version text not null,
  connections integer not null default 0,
  started_at timestamp with time zone not null default now(),
  lease_until timestamp with time zone not null,
  constraint gateway_nodes_pkey PRIMARY KEY (node)
);

create table svc.idempotency (
  partner_id uuid not null,
  caller text not null,
  route text not null,
  key_hash bytea not null,
  body_hash bytea not null,
  status integer,
  answer bytea,
  sealed boolean not null default false,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_pkey PRIMARY KEY (partner_id, caller, route, key_hash)
);
alter table svc.idempotency enable row level security;
alter table svc.idempotency force row level security;

create table svc.invitations (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  email text not null,
  name text not null,
  status text not null default 'invited'::text,
  role_id uuid not null,
  org_access text,
  org_ids uuid[] not null default '{}'::uuid[],
  site_ids uuid[],
  device_group_ids uuid[],
  token_hash bytea,
  expires_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint invitations_check CHECK (((org_id IS NULL) = (org_access IS NOT NULL))),
  constraint invitations_check1 CHECK (((token_hash IS NULL) = (expires_at IS NULL))),
  constraint invitations_email_check CHECK (((length(email) <= 255) AND (email = lower(email)))),
  constraint invitations_name_check CHECK ((length(name) <= 255)),
  constraint invitations_org_access_check CHECK ((org_access = ANY (ARRAY['all'::text, 'selected'::text, 'none'::text]))),
  constraint invitations_status_check CHECK ((status = ANY (ARRAY['invited'::text, 'disabled'::text]))),
  constraint invitations_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES svc.partners(id),
  constraint invitations_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint invitations_partner_id_role_id_fkey FOREIGN KEY (partner_id, role_id) REFERENCES svc.roles(partner_id, id),
  constraint invitations_pkey PRIMARY KEY (id)
);
alter table svc.invitations enable row level security;
alter table svc.invitations force row level security;

create table svc.job_pools (
  pool text not null,
  seen_at timestamp with time zone not null default now(),
  constraint job_pools_pkey PRIMARY KEY (pool)
);

create table svc.job_tasks (
  name text not null,
  max_attempts smallint not null,
  constraint job_tasks_max_attempts_check CHECK (((max_attempts >= 1) AND (max_attempts <= 100))),
  constraint job_tasks_name_check CHECK ((name ~ '^[a-z][a-z0-9_.-]{0,99}$'::text)),
  constraint job_tasks_pkey PRIMARY KEY (name)
);

create table svc.mfa_challenges (
  token_hash bytea not null,
  user_id uuid not null,
  attempts integer not null default 0,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  sms_code_hash bytea,
  sms_expires_at timestamp with time zone,
  invite_hash bytea,
  sso_provider_id uuid,
  constraint mfa_challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id),
  constraint mfa_challenges_pkey PRIMARY KEY (token_hash)
);

create table svc.mfa_setups (
  user_id uuid not null,
  secret bytea not null,
  recovery_codes bytea not null,
  recovery_code_hashes bytea[] not null,
  expires_at timestamp with time zone not null,
  secret_under text generated always as (svc.sealed_under(secret)) stored,
  recovery_codes_under text generated always as (svc.sealed_under(recovery_codes)) stored,
  constraint mfa_setups_recovery_codes_under_fkey FOREIGN KEY (recovery_codes_under) REFERENCES svc.sealing_keys(key_id),
  constraint mfa_setups_secret_under_fkey FOREIGN KEY (secret_under) REFERENCES svc.sealing_keys(key_id),
  constraint mfa_setups_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id),
  constraint mfa_setups_pkey PRIMARY KEY (user_id)
);

create table svc.organization_memberships (
  partner_id uuid not null,
  org_id uuid not null,
  user_id uuid not null,
  role_id uuid not null,
  site_ids uuid[],
  device_group_ids uuid[],
  created_at timestamp with time zone not null default now(),
  by_sso_alone boolean not null default false,
  constraint organization_memberships_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint organization_memberships_partner_id_role_id_fkey FOREIGN KEY (partner_id, role_id) REFERENCES svc.roles(partner_id, id),
  constraint organization_memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id),
  constraint organization_memberships_pkey PRIMARY KEY (user_id, org_id)
);
alter table svc.organization_memberships enable row level security;
alter table svc.organization_memberships force row level security;

create table svc.organizations (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null generated always as (id) stored,
  name text not null,
  slug text not null,
  type text not null default 'customer'::text,
  status text not null default 'active'::text,
  max_devices integer,
  settings jsonb not null default '{}'::jsonb,
  billing_contact jsonb,
  contract_start date,
  contract_end date,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint organizations_max_devices_check CHECK ((max_devices >= 0)),
  constraint organizations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint organizations_slug_check CHECK ((slug ~ '^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$'::text)),
  constraint organizations_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text, 'trial'::text, 'churned'::text, 'offboarding'::text]))),
  constraint organizations_type_check CHECK ((type = ANY (ARRAY['customer'::text, 'internal'::text]))),
  constraint organizations_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES svc.partners(id),
  constraint organizations_pkey PRIMARY KEY (id),
  constraint organizations_partner_id_id_key UNIQUE (partner_id, id)
);
alter table svc.organizations enable row level security;
alter table svc.organizations force row level security;

create table svc.outbox (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  type text not null,
  subject_id uuid not null,
  payload jsonb not null,
  at timestamp with time zone not null default clock_timestamp(),
  relayed_at timestamp with time zone,
  constraint outbox_pkey PRIMARY KEY (id)
);
alter table svc.outbox enable row level security;
alter table svc.outbox force row level security;

create table svc.partner_memberships (
  partner_id uuid not null,
  org_id uuid generated always as (NULL::uuid) stored,
  user_id uuid not null,
  role_id uuid not null,
  org_access text not null,
  org_ids uuid[] not null default '{}'::uuid[],
  created_at timestamp with time zone not null default now(),
  founder boolean not null default false,
  constraint partner_memberships_org_access_check CHECK ((org_access = ANY (ARRAY['all'::text, 'selected'::text, 'none'::text]))),
  constraint partner_memberships_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES svc.partners(id),
  constraint partner_memberships_partner_id_role_id_fkey FOREIGN KEY (partner_id, role_id) REFERENCES svc.roles(partner_id, id),
  constraint partner_memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id),
  constraint partner_memberships_pkey PRIMARY KEY (user_id, partner_id)
);
alter table svc.partner_memberships enable row level security;
alter table svc.partner_memberships force row level security;

create table svc.partners (
  id uuid not null,
  name text not null,
  slug text not null,
  status text not null default 'active'::text,
  timezone text not null default 'UTC'::text,
  settings jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  partner_id uuid not null generated always as (id) stored,
  org_id uuid,
  max_organizations integer,
  max_devices integer,
  deleted_at timestamp with time zone,
  constraint partners_max_devices_check CHECK ((max_devices >= 0)),
  constraint partners_max_organizations_check CHECK ((max_organizations >= 0)),
  constraint partners_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint partners_slug_check CHECK ((slug ~ '^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$'::text)),
  constraint partners_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'suspended'::text, 'offboarding'::text, 'churned'::text]))),
  constraint partners_pkey PRIMARY KEY (id),
  constraint partners_slug_key UNIQUE (slug)
);
alter table svc.partners enable row level security;
alter table svc.partners force row level security;

create table svc.phone_codes (
  user_id uuid not null,
  phone_number text not null,
  code_hash bytea not null,
  attempts integer not null default 0,
  expires_at timestamp with time zone not null,
  constraint phone_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id) ON DELETE CASCADE,
  constraint phone_codes_pkey PRIMARY KEY (user_id)
);

create table svc.rate_limits (
  bucket text not null,
  subject bytea not null,
  hits integer not null,
  resets_at timestamp with time zone not null,
  constraint rate_limits_pkey PRIMARY KEY (bucket, subject)
);

create table svc.refresh_families (
  id uuid not null,
  user_id uuid not null,
  partner_id uuid,
  org_id uuid,
  mfa boolean not null,
  mfa_at timestamp with time zone,
  auth_epoch integer not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  revoked_reason text,
  sso_provider_id uuid,
  sso_mfa boolean not null default false,
  constraint refresh_families_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id),
  constraint refresh_families_pkey PRIMARY KEY (id)
);

create table svc.refresh_tokens (
  token_hash bytea not null,
  family_id uuid not null,
  created_at timestamp with time zone not null default now(),
  idle_expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  retry_key_hash bytea,
  retry_answer bytea,
  constraint refresh_tokens_family_id_fkey FOREIGN KEY (family_id) REFERENCES svc.refresh_families(id) ON DELETE CASCADE,
  constraint refresh_tokens_pkey PRIMARY KEY (token_hash)
);

create table svc.release_assets (
  release_id uuid not null,
  kind text not null,
  os text not null,
  arch text not null,
  name text not null,
  size bigint not null,
  sha256 text not null,
  url text,
  is_latest boolean not null default false,
  constraint release_assets_arch_check CHECK ((arch = ANY (ARRAY['amd64'::text, 'arm64'::text]))),
  constraint release_assets_kind_check CHECK ((kind = ANY (ARRAY['agent'::text, 'helper'::text]))),
  constraint release_assets_os_check CHECK ((os = ANY (ARRAY['linux'::text, 'macos'::text, 'windows'::text]))),
  constraint release_assets_sha256_check CHECK ((length(sha256) = 64)),
  constraint release_assets_size_check CHECK ((size > 0)),
  constraint release_assets_release_id_fkey FOREIGN KEY (release_id) REFERENCES svc.releases(id),
  constraint release_assets_pkey PRIMARY KEY (release_id, kind, os, arch)
);

create table svc.releases (
  id uuid not null,
  version text not null,
  sequence bigint not null,
  released_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  notes text not null,
  manifest bytea not null,
  signature bytea not null,
  key_id text not null,
  created_at timestamp with time zone not null default now(),
  constraint releases_version_check CHECK (((length(version) >= 5) AND (length(version) <= 60))),
  constraint releases_pkey PRIMARY KEY (id),
  constraint releases_sequence_key UNIQUE (sequence),
  constraint releases_version_key UNIQUE (version)
);

create table svc.retired_master_keys (
  key_id text not null,
  retired_at timestamp with time zone not null default now(),
  constraint retired_master_keys_pkey PRIMARY KEY (key_id)
);

create table svc.revocations (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  device_id uuid not null,
  credential_version bigint not null,
  reason text not null,
  at timestamp with time zone not null default now(),
  xact xid8 default pg_current_xact_id(),
  constraint revocations_pkey PRIMARY KEY (id)
);
alter table svc.revocations enable row level security;
alter table svc.revocations force row level security;

create table svc.role_permissions (
  role_id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  resource text not null,
  action text not null,
  constraint role_permissions_action_check CHECK ((length(action) <= 50)),
  constraint role_permissions_resource_check CHECK ((length(resource) <= 100)),
  constraint role_permissions_partner_id_role_id_fkey FOREIGN KEY (partner_id, role_id) REFERENCES svc.roles(partner_id, id) ON DELETE CASCADE,
  constraint role_permissions_pkey PRIMARY KEY (role_id, resource, action)
);
alter table svc.role_permissions enable row level security;
alter table svc.role_permissions force row level security;

create table svc.roles (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  parent_role_id uuid,
  scope text not null,
  name text not null,
  description text,
  is_system boolean not null default false,
  force_mfa boolean not null default false,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint roles_check CHECK (((scope = 'organization'::text) = (org_id IS NOT NULL))),
  constraint roles_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  constraint roles_scope_check CHECK ((scope = ANY (ARRAY['partner'::text, 'organization'::text]))),
  constraint roles_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES svc.partners(id),
  constraint roles_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint roles_partner_id_parent_role_id_fkey FOREIGN KEY (partner_id, parent_role_id) REFERENCES svc.roles(partner_id, id),
  constraint roles_pkey PRIMARY KEY (id),
  constraint roles_partner_id_id_key UNIQUE (partner_id, id)
);
alter table svc.roles enable row level security;
alter table svc.roles force row level security;

create table svc.schedule_entries (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  key text not null,
  task text not null,
  payload jsonb not null,
  timing jsonb not null,
  misfire text not null,
  enabled boolean not null default true,
  due_at timestamp with time zone,
  ends_at timestamp with time zone,
  runs_left integer,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  held_until timestamp with time zone,
  last_error text,
  constraint schedule_entries_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255))),
  constraint schedule_entries_misfire_check CHECK ((misfire = ANY (ARRAY['once'::text, 'skip'::text]))),
  constraint schedule_entries_payload CHECK ((octet_length((payload)::text) <= 61440)),
  constraint schedule_entries_runs_left_check CHECK ((runs_left >= 0)),
  constraint schedule_entries_pkey PRIMARY KEY (id),
  constraint schedule_entries_partner_id_id_key UNIQUE (partner_id, id),
  constraint schedule_entries_partner_id_key_key UNIQUE (partner_id, key)
);
alter table svc.schedule_entries enable row level security;
alter table svc.schedule_entries force row level security;

create table svc.schedule_runs (
  schedule_id uuid not null,
  due_at timestamp with time zone not null,
  partner_id uuid not null,
  org_id uuid,
  enqueued_at timestamp with time zone not null default now(),
  constraint schedule_runs_partner_id_schedule_id_fkey FOREIGN KEY (partner_id, schedule_id) REFERENCES svc.schedule_entries(partner_id, id) ON DELETE CASCADE,
  constraint schedule_runs_pkey PRIMARY KEY (schedule_id, due_at)
);
alter table svc.schedule_runs enable row level security;
alter table svc.schedule_runs force row level security;

create table svc.schedules (
  name text not null,
  every_ms integer,
  due_at timestamp with time zone not null default now(),
  leased_by text,
  leased_until timestamp with time zone,
  last_run_at timestamp with time zone,
  last_error text,
  cron text,
  constraint schedules_every_ms_check CHECK ((every_ms > 0)),
  constraint schedules_timing CHECK (((every_ms IS NULL) <> (cron IS NULL))),
  constraint schedules_pkey PRIMARY KEY (name)
);

create table svc.sealing_key_holders (
  process text not null,
  key_ids text[] not null,
  seals_under text not null,
  seen_at timestamp with time zone not null default now(),
  constraint sealing_key_holders_pkey PRIMARY KEY (process)
);

create table svc.sealing_keys (
  key_id text not null,
  proof bytea not null,
  created_at timestamp with time zone not null default now(),
  state text not null default 'sealing'::text,
  state_since timestamp with time zone not null default now(),
  constraint sealing_keys_state_check CHECK ((state = ANY (ARRAY['announced'::text, 'sealing'::text, 'retiring'::text]))),
  constraint sealing_keys_pkey PRIMARY KEY (key_id)
);

create table svc.shard_leases (
  shard smallint not null,
  owner text,
  fence bigint not null default 0,
  lease_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint shard_leases_pkey PRIMARY KEY (shard)
);

create table svc.sites (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null,
  timezone text not null default 'UTC'::text,
  address jsonb,
  contact jsonb,
  settings jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint sites_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint sites_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint sites_pkey PRIMARY KEY (id),
  constraint sites_partner_id_org_id_id_key UNIQUE (partner_id, org_id, id)
);
alter table svc.sites enable row level security;
alter table svc.sites force row level security;

create table svc.sso_codes (
  code_hash bytea not null,
  user_id uuid not null,
  provider_id uuid not null,
  browser_hash bytea not null,
  mfa boolean not null,
  mfa_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  constraint sso_codes_provider_id_fkey FOREIGN KEY (provider_id) REFERENCES svc.sso_providers(id) ON DELETE CASCADE,
  constraint sso_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id) ON DELETE CASCADE,
  constraint sso_codes_pkey PRIMARY KEY (code_hash)
);

create table svc.sso_identities (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  provider_id uuid not null,
  subject text not null,
  user_id uuid not null,
  email text not null,
  created_at timestamp with time zone not null,
  last_login_at timestamp with time zone not null,
  constraint sso_identities_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255))),
  constraint sso_identities_partner_id_org_id_provider_id_fkey FOREIGN KEY (partner_id, org_id, provider_id) REFERENCES svc.sso_providers(partner_id, org_id, id) ON DELETE CASCADE,
  constraint sso_identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id),
  constraint sso_identities_pkey PRIMARY KEY (id),
  constraint sso_identities_provider_id_subject_key UNIQUE (provider_id, subject),
  constraint sso_identities_provider_id_user_id_key UNIQUE (provider_id, user_id)
);
alter table svc.sso_identities enable row level security;
alter table svc.sso_identities force row level security;

create table svc.sso_logins (
  state_hash bytea not null,
  id uuid not null,
  provider_id uuid not null,
  config_version integer not null,
  browser_hash bytea not null,
  sealed bytea not null,
  expires_at timestamp with time zone not null,
  sealed_under text generated always as (svc.sealed_under(sealed)) stored,
  constraint sso_logins_sealed_under_fkey FOREIGN KEY (sealed_under) REFERENCES svc.sealing_keys(key_id),
  constraint sso_logins_pkey PRIMARY KEY (state_hash)
);

create table svc.sso_providers (
  id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null,
  type text not null default 'oidc'::text,
  status text not null default 'inactive'::text,
  issuer text not null,
  client_id text not null,
  client_secret bytea not null,
  scopes text not null,
  attribute_mapping jsonb not null,
  metadata jsonb,
  discovered_at timestamp with time zone,
  auto_provision boolean not null default false,
  default_role_id uuid,
  allowed_domains text[],
  enforce_sso boolean not null default false,
  trusts_idp_mfa boolean not null default false,
  config_version integer not null default 1,
  created_by uuid,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  client_secret_under text generated always as (svc.sealed_under(client_secret)) stored,
  constraint sso_providers_allowed_domains_check CHECK ((cardinality(allowed_domains) > 0)),
  constraint sso_providers_client_id_check CHECK (((length(client_id) >= 1) AND (length(client_id) <= 255))),
  constraint sso_providers_issuer_check CHECK (((length(issuer) >= 1) AND (length(issuer) <= 2048))),
  constraint sso_providers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint sso_providers_status_check CHECK ((status = ANY (ARRAY['active'::text, 'inactive'::text, 'testing'::text]))),
  constraint sso_providers_type_check CHECK ((type = 'oidc'::text)),
  constraint sso_providers_client_secret_under_fkey FOREIGN KEY (client_secret_under) REFERENCES svc.sealing_keys(key_id),
  constraint sso_providers_created_by_fkey FOREIGN KEY (created_by) REFERENCES svc.users(id),
  constraint sso_providers_partner_id_default_role_id_fkey FOREIGN KEY (partner_id, default_role_id) REFERENCES svc.roles(partner_id, id) ON DELETE SET NULL (default_role_id),
  constraint sso_providers_partner_id_org_id_fkey FOREIGN KEY (partner_id, org_id) REFERENCES svc.organizations(partner_id, id),
  constraint sso_providers_pkey PRIMARY KEY (id),
  constraint sso_providers_partner_id_org_id_id_key UNIQUE (partner_id, org_id, id)
);
alter table svc.sso_providers enable row level security;
alter table svc.sso_providers force row level security;

create table svc.user_tokens (
  user_id uuid not null,
  purpose text not null,
  token_hash bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint user_tokens_purpose_check CHECK ((purpose = ANY (ARRAY['invite'::text, 'reset_password'::text]))),
  constraint user_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES svc.users(id) ON DELETE CASCADE,
  constraint user_tokens_pkey PRIMARY KEY (user_id, purpose)
);

create table svc.users (
  id uuid not null,
  email text not null,
  name text not null,
  status text not null default 'invited'::text,
  avatar_url text,
  password_hash text,
  password_changed_at timestamp with time zone,
  phone_number text,
  phone_verified boolean not null default false,
  mfa_method text,
  totp_secret bytea,
  totp_last_step bigint,
  recovery_code_hashes bytea[] not null default '{}'::bytea[],
  platform_admin boolean not null default false,
  auth_epoch integer not null default 1,
  last_login_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  email_verified_at timestamp with time zone,
  totp_secret_under text generated always as (svc.sealed_under(totp_secret)) stored,
  constraint users_email_check CHECK (((length(email) <= 255) AND (email = lower(email)))),
  constraint users_mfa_method_check CHECK ((mfa_method = ANY (ARRAY['totp'::text, 'sms'::text]))),
  constraint users_name_check CHECK ((length(name) <= 255)),
  constraint users_status_check CHECK ((status = ANY (ARRAY['active'::text, 'invited'::text, 'disabled'::text]))),
  constraint users_totp_secret_under_fkey FOREIGN KEY (totp_secret_under) REFERENCES svc.sealing_keys(key_id),
  constraint users_pkey PRIMARY KEY (id)
);
alter table svc.users enable row level security;
alter table svc.users force row level security;

create table svc.workers (
  worker text not null,
  lease_until timestamp with time zone not null,
  constraint workers_pkey PRIMARY KEY (worker)
);

-- indexes

CREATE INDEX access_review_items_pending ON svc.access_review_items USING btree (review_id) WHERE (decision = 'pending'::text);
CREATE INDEX access_reviews_newest ON svc.access_reviews USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX api_keys_newest ON svc.api_keys USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX audit_log_newest ON svc.audit_log USING btree (partner_id, at DESC, id DESC);
CREATE INDEX audit_log_of_action ON svc.audit_log USING btree (partner_id, action, at DESC, id DESC);
CREATE INDEX audit_log_of_actor ON svc.audit_log USING btree (partner_id, actor_id, at DESC, id DESC);
CREATE INDEX audit_log_of_org ON svc.audit_log USING btree (partner_id, org_id, at DESC, id DESC);
CREATE INDEX audit_words_found ON svc.audit_words USING gin (words) WITH (fastupdate=off);
CREATE INDEX commands_deadline ON svc.commands USING btree (deadline_at) WHERE (status = ANY (ARRAY['delivered'::text, 'running'::text]));
CREATE INDEX commands_device ON svc.commands USING btree (device_id, created_at DESC, id DESC);
CREATE INDEX commands_expiry ON svc.commands USING btree (expires_at) WHERE (status = 'queued'::text);
CREATE INDEX commands_in_flight ON svc.commands USING btree (device_id, lane) WHERE (status = ANY (ARRAY['queued'::text, 'delivered'::text, 'running'::text]));
CREATE UNIQUE INDEX commands_one_pending ON svc.commands USING btree (device_id, type) WHERE (one_pending AND (status = ANY (ARRAY['queued'::text, 'delivered'::text, 'running'::text])));
CREATE INDEX commands_owed ON svc.commands USING btree (device_id) WHERE owed;
CREATE INDEX commands_owed_since ON svc.commands USING btree (GREATEST(created_at, not_before, cancel_requested_at)) WHERE owed;
CREATE INDEX device_group_log_newest ON svc.device_group_log USING btree (group_id, created_at DESC, id DESC);
CREATE INDEX device_group_members_device ON svc.device_group_members USING btree (device_id);
CREATE INDEX device_group_members_newest ON svc.device_group_members USING btree (group_id, added_at DESC, device_id DESC);
CREATE UNIQUE INDEX device_groups_name ON svc.device_groups USING btree (partner_id, org_id, lower(name));
CREATE INDEX device_groups_newest ON svc.device_groups USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX device_past_tokens_retired ON svc.device_past_tokens USING btree (retired_at);
CREATE INDEX device_updates_under_way ON svc.device_updates USING btree (reported_at) WHERE (phase = ANY (ARRAY['downloading'::text, 'verifying'::text, 'backing_up'::text, 'swapping'::text, 'restarting'::text]));
CREATE INDEX devices_enrolled ON svc.devices USING btree (partner_id, enrolled_rank, id);
CREATE INDEX devices_flapping ON svc.devices USING btree (id) WHERE (flapping_since IS NOT NULL);
CREATE INDEX devices_hostname ON svc.devices USING btree (partner_id, hostname_key, id);
CREATE INDEX devices_last_seen ON svc.devices USING btree (partner_id, last_seen_rank, id);
CREATE INDEX devices_online ON svc.devices USING btree (id) WHERE ((connectivity = 'online'::text) OR (activity = 'updating'::text));
CREATE INDEX devices_org ON svc.devices USING btree (partner_id, org_id, hostname_key, id);
CREATE UNIQUE INDEX devices_public_key ON svc.devices USING btree (partner_id, org_id, public_key) WHERE ((public_key IS NOT NULL) AND (lifecycle <> 'decommissioned'::text));
CREATE INDEX devices_site ON svc.devices USING btree (site_id);
CREATE INDEX devices_watched ON svc.devices USING btree (id) WHERE (watchdog_status = ANY (ARRAY['connected'::text, 'failover'::text]));
CREATE INDEX enrollment_keys_newest ON svc.enrollment_keys USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX idempotency_old ON svc.idempotency USING btree (created_at);
CREATE INDEX invitations_newest ON svc.invitations USING btree (partner_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX invitations_place ON svc.invitations USING btree (partner_id, org_id, email) NULLS NOT DISTINCT;
CREATE INDEX invitations_role ON svc.invitations USING btree (partner_id, role_id);
CREATE UNIQUE INDEX invitations_token ON svc.invitations USING btree (token_hash);
CREATE INDEX organization_memberships_org ON svc.organization_memberships USING btree (partner_id, org_id);
CREATE INDEX organization_memberships_role ON svc.organization_memberships USING btree (partner_id, role_id);
CREATE INDEX organizations_newest ON svc.organizations USING btree (partner_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX organizations_slug ON svc.organizations USING btree (partner_id, slug) WHERE (deleted_at IS NULL);
CREATE INDEX outbox_owed ON svc.outbox USING btree (at, id) WHERE (relayed_at IS NULL);
CREATE INDEX outbox_relayed ON svc.outbox USING btree (relayed_at) WHERE (relayed_at IS NOT NULL);
CREATE INDEX partner_memberships_role ON svc.partner_memberships USING btree (partner_id, role_id);
CREATE INDEX rate_limits_over ON svc.rate_limits USING btree (resets_at);
CREATE INDEX refresh_families_sso ON svc.refresh_families USING btree (sso_provider_id) WHERE ((sso_provider_id IS NOT NULL) AND (revoked_at IS NULL));
CREATE INDEX refresh_families_user ON svc.refresh_families USING btree (user_id) WHERE (revoked_at IS NULL);
CREATE INDEX refresh_tokens_family ON svc.refresh_tokens USING btree (family_id);
CREATE UNIQUE INDEX release_assets_latest ON svc.release_assets USING btree (kind, os, arch) WHERE is_latest;
CREATE INDEX releases_newest ON svc.releases USING btree (created_at DESC, id DESC);
CREATE INDEX revocations_at ON svc.revocations USING btree (at);
CREATE INDEX revocations_xact ON svc.revocations USING btree (xact);
CREATE UNIQUE INDEX roles_name ON svc.roles USING btree (partner_id, org_id, lower(name)) NULLS NOT DISTINCT;
CREATE INDEX roles_newest ON svc.roles USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX roles_parent ON svc.roles USING btree (partner_id, parent_role_id) WHERE (parent_role_id IS NOT NULL);
CREATE INDEX schedule_entries_due ON svc.schedule_entries USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX schedule_runs_age ON svc.schedule_runs USING btree (enqueued_at);
CREATE UNIQUE INDEX sealing_keys_state ON svc.sealing_keys USING btree (state);
CREATE UNIQUE INDEX sites_name ON svc.sites USING btree (partner_id, org_id, lower(name));
CREATE INDEX sites_newest ON svc.sites USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX sso_codes_over ON svc.sso_codes USING btree (expires_at);
CREATE INDEX sso_codes_provider ON svc.sso_codes USING btree (provider_id);
CREATE INDEX sso_codes_user ON svc.sso_codes USING btree (user_id);
CREATE INDEX sso_identities_user ON svc.sso_identities USING btree (user_id);
CREATE INDEX sso_logins_over ON svc.sso_logins USING btree (expires_at);
CREATE INDEX sso_logins_provider ON svc.sso_logins USING btree (provider_id);
CREATE UNIQUE INDEX sso_providers_active ON svc.sso_providers USING btree (org_id) WHERE (status = 'active'::text);
CREATE INDEX sso_providers_newest ON svc.sso_providers USING btree (partner_id, created_at DESC, id DESC);
CREATE INDEX sso_providers_org ON svc.sso_providers USING btree (org_id);
CREATE INDEX sso_providers_role ON svc.sso_providers USING btree (partner_id, default_role_id) WHERE (default_role_id IS NOT NULL);
CREATE UNIQUE INDEX user_tokens_hash ON svc.user_tokens USING btree (token_hash);
CREATE UNIQUE INDEX users_email ON svc.users USING btree (email);

-- policies

create policy tenant on svc.access_review_items as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.access_reviews as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.api_keys as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.audit_log as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy system_only on svc.audit_seal as permissive for all to public
  using (( SELECT svc.scope_system() AS scope_system));

create policy tenant on svc.commands as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_disks as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_group_log as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_group_members as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_groups as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_hardware as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_instances as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_inventory as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_network_interfaces as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_networks as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_past_tokens as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_presence as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_software as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.device_updates as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.devices as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.enrollment_keys as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.idempotency as permissive for all to public
  using ((( SELECT svc.scope_system() AS scope_system) OR (partner_id = ( SELECT svc.scope_partner() AS scope_partner))));

create policy tenant on svc.invitations as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.organization_memberships as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.organizations as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.outbox as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.partner_memberships as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy own on svc.partners as permissive for select to public
  using ((( SELECT svc.scope_system() AS scope_system) OR (id = ( SELECT svc.scope_partner() AS scope_partner))));

create policy tenant on svc.partners as permissive for all to public
  using ((( SELECT svc.scope_system() AS scope_system) OR ((id = ( SELECT svc.scope_partner() AS scope_partner)) AND (( SELECT svc.scope_all_orgs() AS scope_all_orgs) OR ( SELECT svc.scope_partner_level() AS scope_partner_level)))));

create policy tenant on svc.revocations as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.role_permissions as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.roles as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.schedule_entries as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.schedule_runs as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.sites as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.sso_identities as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy tenant on svc.sso_providers as permissive for all to public
  using (((partner_id = ( SELECT svc.scope_whole_partner() AS scope_whole_partner)) OR ( SELECT svc.scope_system() AS scope_system) OR ((partner_id = ( SELECT svc.scope_partner() AS scope_partner)) AND (COALESCE(org_id, partner_id) = ANY (( SELECT svc.scope_places() AS scope_places)::uuid[])))));

create policy member on svc.users as permissive for all to public
  using ((( SELECT svc.scope_system() AS scope_system) OR (EXISTS ( SELECT
   FROM svc.partner_memberships m
  WHERE (m.user_id = users.id))) OR (EXISTS ( SELECT
   FROM svc.organization_memberships m
  WHERE (m.user_id = users.id)))));

-- routines

CREATE OR REPLACE FUNCTION svc.accept_invitation(token bytea, account uuid, hash text, at timestamp with time zone)
 RETURNS TABLE(invitation_id uuid, user_id uuid, email text, partner_id uuid, org_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare
  accepted invitations;
  who uuid;
begin
  if not exists (select from svc.read_invitation(token, at)) then return; end if;
  delete from invitations i where i.token_hash = token and i.expires_at > at and i.status = 'invited' returning i.* into accepted;
  if not found then return; end if;
  if account is null then
    insert into users (id, email, name, status, created_at, updated_at)
      values (accepted.id, accepted.email, accepted.name, 'invited', at, at) on conflict (email) do nothing;
    select u.id into who from users u where u.email = accepted.email for update;
    if not svc.is_unclaimed(who) then return; end if;
    update organization_memberships m set by_sso_alone = true from users u
      where u.id = who and u.mfa_method is not null and m.user_id = u.id;
    update users u set status = 'active', name = accepted.name, mfa_method = null, totp_secret = null, totp_last_step = null,
        recovery_code_hashes = '{}', phone_number = null, phone_verified = false, email_verified_at = at, updated_at = at
      where u.id = who;
    perform svc.set_password(who, hash, at);
    perform svc.end_sessions(who, 'invite accepted', at);
  else
    update users u set email_verified_at = coalesce(u.email_verified_at, at)
      where u.id = account and u.email = accepted.email and u.status = 'active' returning u.id into who;
    if who is null then return; end if;
  end if;
  if accepted.org_id is null then
    insert into partner_memberships (partner_id, user_id, role_id, org_access, org_ids)
      values (accepted.partner_id, who, accepted.role_id, accepted.org_access, accepted.org_ids) on conflict do nothing;
  else
    insert into organization_memberships (partner_id, org_id, user_id, role_id, site_ids, device_group_ids)
      values (accepted.partner_id, accepted.org_id, who, accepted.role_id, accepted.site_ids, accepted.device_group_ids)
      on conflict do nothing;
  end if;
  return query select accepted.id, who, accepted.email, accepted.partner_id, accepted.org_id;
end $function$;

CREATE OR REPLACE FUNCTION svc.accept_sso_invitation(provider uuid, fresh_id uuid, mail text, at timestamp with time zone)
 RETURNS TABLE(user_id uuid, invitation_id uuid, role_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare invited invitations; who uuid;
begin
  select i.* into invited from invitations i join sso_providers p on p.id = provider and p.org_id = i.org_id
    where i.email = mail and i.status = 'invited' for update of i;
  if not found then return; end if;
  insert into users (id, email, name, status, created_at, updated_at) values (fresh_id, mail, invited.name, 'invited', at, at)
    on conflict (email) do nothing;
  select u.id into who from users u where u.email = mail for update;
  if not svc.is_unclaimed(who) or not svc.is_of_organization_alone(who, invited.org_id) then return; end if;
  delete from invitations i where i.id = invited.id;
  update users u set status = 'active', name = invited.name, password_hash = null, mfa_method = null, totp_secret = null,
      totp_last_step = null, recovery_code_hashes = '{}', phone_number = null, phone_verified = false, email_verified_at = null,
      auth_epoch = u.auth_epoch + 1, updated_at = at
    where u.id = who;
  insert into organization_memberships (partner_id, org_id, user_id, role_id, site_ids, device_group_ids)
    values (invited.partner_id, invited.org_id, who, invited.role_id, invited.site_ids, invited.device_group_ids)
    on conflict do nothing;
  return query select who, invited.id, invited.role_id;
end $function$;

CREATE OR REPLACE FUNCTION svc.activate_account(account uuid, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with activated as (
    update users u set status = 'active', updated_at = at where u.id = account and u.status <> 'disabled' returning 1)
  select exists (select from activated)
$function$;

CREATE OR REPLACE FUNCTION svc.audit_among(p_ids uuid[], p_words tsquery)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER ROWS 500
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
 SET enable_seqscan TO 'off'
BEGIN ATOMIC
 SELECT w.audit_id
    FROM svc.audit_words w
   WHERE ((w.audit_id = ANY (audit_among.p_ids)) AND (w.words @@ audit_among.p_words));
END;

CREATE OR REPLACE FUNCTION svc.audit_matches(p_words tsquery, p_most integer)
 RETURNS TABLE(id uuid, at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER ROWS 5000
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
 SET enable_seqscan TO 'off'
BEGIN ATOMIC
 SELECT w.audit_id,
     w.at
    FROM svc.audit_words w
   WHERE (w.words @@ audit_matches.p_words)
  LIMIT audit_matches.p_most;
END;

CREATE OR REPLACE FUNCTION svc.audit_text(a svc.audit_log)
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN (SELECT (jsonb_object_agg(c.key, c.value))::text AS jsonb_object_agg FROM jsonb_each((to_jsonb(audit_text.a) || jsonb_build_object('at', ((EXTRACT(epoch FROM (audit_text.a).at) * (1000000)::numeric))::bigint))) c(key, value) WHERE (c.value <> 'null'::jsonb));

CREATE OR REPLACE FUNCTION svc.await_invitation(challenge bytea, invite bytea)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update mfa_challenges c set invite_hash = invite where c.token_hash = challenge
$function$;

CREATE OR REPLACE FUNCTION svc.await_seal()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into svc.audit_unsealed (audit_id) values (new.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION svc.begin_mfa_setup(account uuid, sealed_secret bytea, sealed_codes bytea, code_hashes bytea[], until timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  insert into mfa_setups (user_id, secret, recovery_codes, recovery_code_hashes, expires_at)
    values (account, sealed_secret, sealed_codes, code_hashes, until)
  on conflict (user_id) do update set secret = excluded.secret, recovery_codes = excluded.recovery_codes,
    recovery_code_hashes = excluded.recovery_code_hashes, expires_at = excluded.expires_at
$function$;

CREATE OR REPLACE FUNCTION svc.begin_phone_check(account uuid, phone text, hash bytea, until timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  insert into phone_codes (user_id, phone_number, code_hash, expires_at) values (account, phone, hash, until)
  on conflict (user_id) do update set phone_number = excluded.phone_number, code_hash = excluded.code_hash, attempts = 0,
    expires_at = excluded.expires_at
$function$;

CREATE OR REPLACE FUNCTION svc.begin_sso_login(login uuid, provider uuid, version integer, state bytea, browser bytea, sealed_values bytea, until timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  insert into sso_logins (state_hash, id, provider_id, config_version, browser_hash, sealed, expires_at)
    values (state, login, provider, version, browser, sealed_values, until)
$function$;

CREATE OR REPLACE FUNCTION svc.challenge_home(token bytea, account uuid)
 RETURNS TABLE(partner_id uuid, org_id uuid, demanded_by uuid, sso_provider_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select h.partner_id, h.org_id, null::uuid, c.sso_provider_id
  from mfa_challenges c left join sso_providers p on p.id = c.sso_provider_id and p.status = 'active'
    left join lateral svc.homes_of(account) h on h.org_id = p.org_id
  where c.token_hash = token and c.sso_provider_id is not null
  union all
  select h.partner_id, h.org_id, h.demanded_by, null
  from mfa_challenges c, svc.password_home(account) h where c.token_hash = token and c.sso_provider_id is null
$function$;

CREATE OR REPLACE FUNCTION svc.change_account(account uuid, partner uuid, org uuid, new_name text, new_status text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
begin
  -- Whoever adds a membership of this account meanwhile waits for the row that its foreign key locks.
  perform from users u where u.id = account and not u.platform_admin for update;
  if not found
    or exists (select from partner_memberships m where m.user_id = account and (m.partner_id <> partner or org is not null))
    or exists (select from organization_memberships m where m.user_id = account
      and (m.partner_id <> partner or (org is not null and m.org_id <> org))) then
    return false;
  end if;
  update users u set name = coalesce(new_name, u.name), status = coalesce(new_status, u.status), updated_at = at
    where u.id = account;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION svc.change_own_profile(account uuid, new_name text, new_avatar text, with_avatar boolean, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update users u set name = coalesce(new_name, u.name),
    avatar_url = case when with_avatar then new_avatar else u.avatar_url end, updated_at = at
  where u.id = account
$function$;

CREATE OR REPLACE FUNCTION svc.change_password(account uuid, checked text, hash text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
begin
  perform from users u where u.id = account and u.password_hash = checked for update;
  if not found then return false; end if;
  perform svc.set_password(account, hash, at);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION svc.close_mfa_challenge(token bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
begin
  perform svc.hold_sso_provider(c.sso_provider_id) from mfa_challenges c
    where c.token_hash = token and c.sso_provider_id is not null;
  delete from mfa_challenges c where c.token_hash = token;
  return found;
end $function$;

CREATE OR REPLACE FUNCTION svc.confirm_mfa_setup(account uuid, checked_secret bytea, step bigint, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
declare hashes bytea[];
begin
  delete from mfa_setups s where s.user_id = account and s.secret = checked_secret and s.expires_at > at
    returning s.recovery_code_hashes into hashes;
  if hashes is null then return false; end if;
  update users u set mfa_method = 'totp', totp_secret = checked_secret, totp_last_step = step,
    recovery_code_hashes = hashes, updated_at = at where u.id = account;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION svc.database_identity()
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog'
AS $function$
declare
  cluster text := '';
begin
  begin
    select system_identifier::text into cluster from pg_control_system();
  exception when insufficient_privilege then
    null; -- where a hosted server keeps that to itself, the rest tells most of it
  end;
  return cluster || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/'
    || (select oid::text from pg_database where datname = current_database());
end $function$;

CREATE OR REPLACE FUNCTION svc.demands_sso(org uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from svc.sso_providers p where p.org_id = org and p.status = 'active' and p.enforce_sso)
$function$;

CREATE OR REPLACE FUNCTION svc.device_of_key(org uuid, key bytea)
 RETURNS TABLE(id uuid, site_id uuid, is_new boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
begin
  perform pg_advisory_xact_lock(hashtextextended('svc.device_of_key ' || org || encode(key, 'hex'), 0));
  return query
    select d.id, d.site_id, d.lifecycle = 'active' and p.last_seen_at is null
    from devices d join device_presence p on p.device_id = d.id
    where d.org_id = org and d.public_key = key and d.lifecycle <> 'decommissioned'
    for no key update of d;
end $function$;

CREATE OR REPLACE FUNCTION svc.devices_of_partner(partner uuid)
 RETURNS TABLE(devices integer, max_devices integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare most integer;
begin
  select p.max_devices into most from partners p where p.id = partner;
  if most is null then return; end if;
  select p.max_devices into most from partners p where p.id = partner for no key update;
  return query select count(*)::integer, most from devices d where d.partner_id = partner and d.lifecycle <> 'decommissioned';
end $function$;

CREATE OR REPLACE FUNCTION svc.disable_second_factor(account uuid, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with disabled as (
    update users u set mfa_method = null, totp_secret = null, totp_last_step = null, phone_number = null,
      phone_verified = false, recovery_code_hashes = '{}', updated_at = at
    where u.id = account and u.mfa_method is not null returning 1)
  select exists (select from disabled)
$function$;

CREATE OR REPLACE FUNCTION svc.enable_sms_factor(account uuid, hashes bytea[], at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with enabled as (
    update users u set mfa_method = 'sms', recovery_code_hashes = hashes, updated_at = at
    where u.id = account and u.mfa_method is null and u.phone_verified and u.phone_number is not null returning 1)
  select exists (select from enabled)
$function$;

CREATE OR REPLACE FUNCTION svc.end_membership_sessions(account uuid, partner uuid, org uuid, reason text, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update refresh_families f set revoked_at = at, revoked_reason = reason
  where f.user_id = account and f.partner_id = partner and f.org_id is not distinct from org and f.revoked_at is null
$function$;

CREATE OR REPLACE FUNCTION svc.end_password_sessions(org uuid, reason text, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
declare ended integer;
begin
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.org_id = org and f.sso_provider_id is null and f.revoked_at is null;
  get diagnostics ended = row_count;
  return ended;
end $function$;

CREATE OR REPLACE FUNCTION svc.end_sessions(account uuid, reason text, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
declare epoch integer;
begin
  update users u set auth_epoch = u.auth_epoch + 1 where u.id = account returning u.auth_epoch into epoch;
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.user_id = account and f.revoked_at is null;
  delete from mfa_challenges c where c.user_id = account;
  delete from mfa_setups s where s.user_id = account;
  return epoch;
end $function$;

CREATE OR REPLACE FUNCTION svc.end_sso_sessions(provider uuid, reason text, at timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
declare ended integer;
begin
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.sso_provider_id = provider and f.revoked_at is null;
  get diagnostics ended = row_count;
  delete from mfa_challenges c where c.sso_provider_id = provider;
  delete from sso_codes c where c.provider_id = provider;
  return ended;
end $function$;

CREATE OR REPLACE FUNCTION svc.end_tenant_sessions(partner uuid, org uuid, reason text, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update refresh_families f set revoked_at = at, revoked_reason = reason
  where f.partner_id = partner and (org is null or f.org_id = org) and f.revoked_at is null
$function$;

CREATE OR REPLACE FUNCTION svc.enqueue(task text, payload jsonb, key text DEFAULT NULL::text, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, queue text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
declare
  usual smallint;
  job bigint;
begin
  select t.max_attempts into usual from job_tasks t where t.name = enqueue.task;
  if not found then
    raise exception 'no task is named %', quote_nullable(enqueue.task) using errcode = '22023';
  end if;
  if jsonb_typeof(enqueue.payload) is distinct from 'object' or octet_length(enqueue.payload::text) > 65536 then
    raise exception 'a payload is an object of at most 64 KiB' using errcode = '22023';
  end if;
  if enqueue.payload ? 'sealed' then
    perform from sealing_keys k where k.key_id = sealed_under(decode(enqueue.payload ->> 'sealed', 'base64')) for key share;
    if not found then
      raise exception 'the payload is sealed under a key that this database does not know' using errcode = '22023';
    end if;
  end if;
  -- A job of this key that a worker takes up at this very moment is neither replaced nor in the way: once more, and it is.
  for tries in 1..5 loop
    select j.id into job from graphile_worker.add_job(
      identifier => enqueue.task, payload => enqueue.payload::json, queue_name => enqueue.queue, run_at => enqueue.run_at,
      max_attempts => coalesce(enqueue.max_attempts, usual), job_key => enqueue.key) j;
    if job is not null then return job; end if;
  end loop;
  raise exception 'the job could not be enqueued' using errcode = '40001';
end $function$;

CREATE OR REPLACE FUNCTION svc.hold_password_login(org uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
begin
  perform from sso_providers p where p.org_id = org for share;
  return not svc.demands_sso(org);
end $function$;

CREATE OR REPLACE FUNCTION svc.hold_sso_provider(provider uuid)
 RETURNS void
 LANGUAGE sql
AS $function$
  select from svc.sso_providers p where p.id = provider for share
$function$;

CREATE OR REPLACE FUNCTION svc.homes_of(account uuid)
 RETURNS TABLE(partner_id uuid, org_id uuid, place bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select h.partner_id, h.org_id, h.place from svc.homes_of(account, svc.is_proved(account)) h
$function$;

CREATE OR REPLACE FUNCTION svc.homes_of(account uuid, proved boolean)
 RETURNS TABLE(partner_id uuid, org_id uuid, place bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select h.partner_id, h.org_id, row_number() over (order by h.since, h.partner_id, h.rank, h.created_at, h.org_id) from (
    select m.*, min(m.created_at) over (partition by m.partner_id) as since from (
      select m.partner_id, null::uuid as org_id, 0 as rank, m.created_at
      from svc.partner_memberships m join svc.partners p on p.id = m.partner_id
      where m.user_id = account and p.status in ('pending', 'active') and (m.founder or proved)
      union all
      select m.partner_id, m.org_id, 1, m.created_at
      from svc.organization_memberships m
        join svc.organizations o on o.id = m.org_id and o.deleted_at is null and o.status in ('active', 'trial')
        join svc.partners p on p.id = m.partner_id and p.status in ('pending', 'active')
      where m.user_id = account and proved) m) h
$function$;

CREATE OR REPLACE FUNCTION svc.index_audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
begin
  insert into svc.audit_words (audit_id, at, partner_id, org_id, words)
  values (new.id, new.at, new.partner_id, new.org_id, svc.words_of_audit(new));
  return null;
end $function$;

CREATE OR REPLACE FUNCTION svc.invite_account(fresh_id uuid, mail text, display text, at timestamp with time zone)
 RETURNS TABLE(id uuid, name text, status text, fresh boolean, proved boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
begin
  insert into users (id, email, name, status, created_at, updated_at) values (fresh_id, mail, display, 'invited', at, at)
    on conflict (email) do nothing;
  update users u set status = 'invited', name = display, password_hash = null, mfa_method = null, totp_secret = null,
      totp_last_step = null, recovery_code_hashes = '{}', phone_number = null, phone_verified = false,
      auth_epoch = u.auth_epoch + 1, updated_at = at
    where u.email = mail and u.status = 'active' and u.email_verified_at is null and not u.platform_admin
      and not exists (select from partner_memberships m where m.user_id = u.id)
      and not exists (select from organization_memberships m where m.user_id = u.id);
  return query select u.id, u.name, u.status, u.id = fresh_id, u.email_verified_at is not null from users u where u.email = mail;
end $function$;

CREATE OR REPLACE FUNCTION svc.is_of_organization_alone(account uuid, org uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select not exists (select from partner_memberships m where m.user_id = account)
    and not exists (select from organization_memberships m where m.user_id = account and m.org_id <> org)
    and not exists (select from users u where u.id = account and u.platform_admin)
$function$;

CREATE OR REPLACE FUNCTION svc.is_proved(account uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from svc.users u where u.id = account and (u.email_verified_at is not null or u.status <> 'active'))
    or exists (select from svc.sso_identities i where i.user_id = account)
$function$;

CREATE OR REPLACE FUNCTION svc.is_sso_member(account uuid, org uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select exists (select from svc.organization_memberships m where m.user_id = account and m.org_id = org)
$function$;

CREATE OR REPLACE FUNCTION svc.is_unclaimed(account uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  with belonging as (
    select m.user_id from svc.partner_memberships m where m.user_id = account
    union all
    select m.user_id from svc.organization_memberships m where m.user_id = account)
  select exists (select from svc.users u where u.id = account and not u.platform_admin and (
    (u.status = 'disabled' and not exists (select from belonging))
    or (u.email_verified_at is null and (u.status = 'invited'
      or (u.status = 'active' and (u.password_hash is null or not exists (select from belonging)))))))
$function$;

CREATE OR REPLACE FUNCTION svc.issue_sso_code(code bytea, account uuid, provider uuid, browser bytea, second_factor boolean, second_factor_at timestamp with time zone, until timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  insert into sso_codes (code_hash, user_id, provider_id, browser_hash, mfa, mfa_at, expires_at)
    values (code, account, provider, browser, second_factor, second_factor_at, until)
$function$;

CREATE OR REPLACE FUNCTION svc.issue_user_token(account uuid, for_purpose text, token bytea, at timestamp with time zone, until timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  insert into user_tokens (user_id, purpose, token_hash, created_at, expires_at)
    values (account, for_purpose, token, at, until)
  on conflict (user_id, purpose) do update set token_hash = excluded.token_hash, created_at = excluded.created_at,
    expires_at = excluded.expires_at
$function$;

CREATE OR REPLACE FUNCTION svc.load_api_key(hash bytea)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
BEGIN ATOMIC
 SELECT jsonb_build_object('id', k.id, 'generation', k.generation, 'partnerId', k.partner_id, 'orgId', k.org_id, 'memberOrg', k.member_org, 'ownerId', k.created_by, 'scopes', to_jsonb(k.scopes), 'rateLimit', k.rate_limit, 'ipAllowlist', to_jsonb(k.ip_allowlist), 'expiresAt', k.expires_at) AS jsonb_build_object
    FROM ((svc.api_keys k
      JOIN svc.partners p ON (((p.id = k.partner_id) AND (p.status = ANY (ARRAY['pending'::text, 'active'::text])))))
      LEFT JOIN svc.organizations o ON (((o.partner_id = k.partner_id) AND (o.id = k.org_id))))
   WHERE ((k.key_hash = load_api_key.hash) AND (k.revoked_at IS NULL) AND ((k.org_id IS NULL) OR ((o.deleted_at IS NULL) AND (o.status = ANY (ARRAY['active'::text, 'trial'::text])))));
END;

CREATE OR REPLACE FUNCTION svc.load_caller(p_user uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
BEGIN ATOMIC
 WITH RECURSIVE memberships AS (
          SELECT 'partner'::text AS kind,
             m.partner_id,
             m.partner_id AS id,
             m.role_id,
             m.org_access,
             m.org_ids,
             NULL::uuid[] AS site_ids,
             NULL::uuid[] AS device_group_ids,
             m.created_at
            FROM (svc.partner_memberships m
              JOIN svc.partners p ON ((p.id = m.partner_id)))
           WHERE ((m.user_id = load_caller.p_user) AND (p.status = ANY (ARRAY['pending'::text, 'active'::text])) AND (m.founder OR svc.is_proved(load_caller.p_user)))
         UNION ALL
          SELECT 'organization'::text,
             m.partner_id,
             m.org_id,
             m.role_id,
             NULL::text,
             NULL::uuid[],
             m.site_ids,
             m.device_group_ids,
             m.created_at
            FROM ((svc.organization_memberships m
              JOIN svc.partners p ON ((p.id = m.partner_id)))
              JOIN svc.organizations o ON (((o.partner_id = m.partner_id) AND (o.id = m.org_id))))
           WHERE ((m.user_id = load_caller.p_user) AND (p.status = ANY (ARRAY['pending'::text, 'active'::text])) AND svc.is_proved(load_caller.p_user) AND (o.deleted_at IS NULL) AND (o.status = ANY (ARRAY['active'::text, 'trial'::text])))
         ), chain AS (
          SELECT DISTINCT m.role_id AS holder,
             m.role_id
            FROM memberships m
         UNION
          SELECT c.holder,
             r.parent_role_id
            FROM (chain c
              JOIN svc.roles r ON ((r.id = c.role_id)))
           WHERE (r.parent_role_id IS NOT NULL)
         ), granted AS (
          SELECT c.holder,
             jsonb_agg(DISTINCT ((p.resource || ':'::text) || p.action)) AS permissions
            FROM (chain c
              JOIN svc.role_permissions p ON ((p.role_id = c.role_id)))
           GROUP BY c.holder
         ), demanded AS (
          SELECT c.holder,
             bool_or(r.force_mfa) AS force_mfa
            FROM (chain c
              JOIN svc.roles r ON ((r.id = c.role_id)))
           GROUP BY c.holder
         )
  SELECT jsonb_build_object('email', u.email, 'status', u.status, 'authEpoch', u.auth_epoch, 'platformAdmin', u.platform_admin, 'hasTotp', (u.totp_secret IS NOT NULL), 'sessions', COALESCE(( SELECT jsonb_agg(jsonb_build_object('id', f.id, 'mfaAt', f.mfa_at)) AS jsonb_agg
            FROM svc.refresh_families f
           WHERE ((f.user_id = u.id) AND (f.revoked_at IS NULL) AND (f.expires_at > now()))), '[]'::jsonb), 'memberships', COALESCE(( SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', m.kind, 'id', m.id, 'partnerId', m.partner_id, 'roleId', m.role_id, 'forceMfa', d.force_mfa, 'orgAccess', m.org_access, 'orgIds', m.org_ids, 'siteIds', m.site_ids, 'deviceGroupIds', m.device_group_ids, 'permissions', COALESCE(g.permissions, '[]'::jsonb))) ORDER BY m.created_at, m.id) AS jsonb_agg
            FROM ((memberships m
              JOIN demanded d ON ((d.holder = m.role_id)))
              LEFT JOIN granted g ON ((g.holder = m.role_id)))), '[]'::jsonb)) AS jsonb_build_object
    FROM svc.users u
   WHERE (u.id = load_caller.p_user);
END;

CREATE OR REPLACE FUNCTION svc.login_account(mail text)
 RETURNS TABLE(id uuid, email text, name text, avatar_url text, status text, password_hash text, mfa_method text, auth_epoch integer, platform_admin boolean, associated boolean, partner_id uuid, org_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select u.id, u.email, u.name, u.avatar_url, u.status, u.password_hash, u.mfa_method, u.auth_epoch, u.platform_admin,
    exists (select from partner_memberships m where m.user_id = u.id)
      or exists (select from organization_memberships m where m.user_id = u.id),
    h.partner_id, h.org_id
  from users u left join lateral svc.homes_of(u.id) h on h.place = 1
  where u.email = mail
$function$;

CREATE OR REPLACE FUNCTION svc.mark_sso_challenge(token bytea, provider uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update mfa_challenges c set sso_provider_id = provider where c.token_hash = token
$function$;

CREATE OR REPLACE FUNCTION svc.mark_sso_session(family uuid, provider uuid, by_provider boolean, second_factor_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  -- Held until the commit, so that whoever disables the provider ends this session as well, or it is not opened.
  with held as materialized (select p.id from sso_providers p where p.id = provider and p.status = 'active' for share),
  marked as (
    update refresh_families f set sso_provider_id = held.id, sso_mfa = by_provider,
      mfa_at = case when by_provider then second_factor_at else f.mfa_at end
    from held where f.id = family returning 1)
  select exists (select from marked)
$function$;

CREATE OR REPLACE FUNCTION svc.note_api_key_uses(p_uses jsonb)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
BEGIN ATOMIC
 WITH uses AS (
          SELECT u_1.id,
             u_1.generation,
             u_1.count,
             u_1.at
            FROM jsonb_to_recordset(note_api_key_uses.p_uses) u_1(id uuid, generation integer, count bigint, at timestamp with time zone)
         ), held AS MATERIALIZED (
          SELECT k_1.id
            FROM svc.api_keys k_1
           WHERE (k_1.id IN ( SELECT uses.id
                    FROM uses))
           ORDER BY k_1.id
          FOR NO KEY UPDATE OF k_1
         )
  UPDATE svc.api_keys k SET usage_count = (k.usage_count + u.count), last_used_at = GREATEST(COALESCE(k.last_used_at, u.at), u.at)
    FROM (uses u
      JOIN held ON ((held.id = u.id)))
   WHERE ((k.id = u.id) AND (k.generation = u.generation));
END;

CREATE OR REPLACE FUNCTION svc.note_founder()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'svc', 'pg_temp'
AS $function$
begin
  new.founder := new.founder
    or exists (select from partners p where p.id = new.partner_id and p.created_at = new.created_at);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION svc.note_sso_metadata(provider uuid, version integer, found jsonb, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update sso_providers p set metadata = found, discovered_at = at where p.id = provider and p.config_version = version
$function$;

CREATE OR REPLACE FUNCTION svc.open_challenge(account uuid, epoch integer, token bytea, at timestamp with time zone, until timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
begin
  perform from users u where u.id = account and u.status = 'active' and u.auth_epoch = epoch for share;
  if not found then return false; end if;
  insert into mfa_challenges (token_hash, user_id, created_at, expires_at) values (token, account, at, until);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION svc.open_mfa_challenge(account uuid, token bytea, at timestamp with time zone, until timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  insert into mfa_challenges (token_hash, user_id, created_at, expires_at) values (token, account, at, until)
$function$;

CREATE OR REPLACE FUNCTION svc.open_session(account uuid, epoch integer, partner uuid, org uuid, family uuid, token bytea, second_factor boolean, at timestamp with time zone, idle_until timestamp with time zone, until timestamp with time zone)
 RETURNS TABLE(auth_epoch integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
begin
  update users u set last_login_at = at
    where u.id = account and u.status = 'active' and u.auth_epoch = epoch;
  if not found then return; end if;
  insert into refresh_families (id, user_id, partner_id, org_id, mfa, mfa_at, auth_epoch, created_at, expires_at)
    values (family, account, partner, org, second_factor, case when second_factor then at end, epoch, at, until);
  insert into refresh_tokens (token_hash, family_id, created_at, idle_expires_at) values (token, family, at, idle_until);
  update refresh_families f set revoked_at = at, revoked_reason = 'too many logins'
    where f.id in (select o.id from refresh_families o
      where o.user_id = account and o.revoked_at is null and o.expires_at > at and o.id <> family
      order by o.created_at desc, o.id desc offset 199);
  return query select epoch;
end $function$;

CREATE OR REPLACE FUNCTION svc.own_account(account uuid)
 RETURNS TABLE(id uuid, email text, name text, avatar_url text, status text, mfa_enabled boolean, mfa_method text, phone_verified boolean, phone_last4 text, last_login_at timestamp with time zone, password_changed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select u.id, u.email, u.name, u.avatar_url, u.status, u.mfa_method is not null, u.mfa_method, u.phone_verified,
    right(u.phone_number, 4), u.last_login_at, u.password_changed_at, u.created_at, u.updated_at
  from users u where u.id = account
$function$;

CREATE OR REPLACE FUNCTION svc.password_home(account uuid)
 RETURNS TABLE(partner_id uuid, org_id uuid, demanded_by uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with homes as (
    select h.partner_id, h.org_id, h.place, h.org_id is not null and (svc.demands_sso(h.org_id) or exists (
      select from svc.organization_memberships m where m.user_id = account and m.org_id = h.org_id and m.by_sso_alone)) as by_sso_alone
    from svc.homes_of(account) h)
  select h.partner_id, h.org_id, case when h.partner_id is null then (
      select d.org_id from homes d where d.by_sso_alone order by d.place limit 1) end
  from (select 1) one left join lateral (
    select f.partner_id, f.org_id from homes f where not f.by_sso_alone order by f.place limit 1) h on true
$function$;

CREATE OR REPLACE FUNCTION svc.password_of(account uuid)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select u.password_hash from users u where u.id = account
$function$;

CREATE OR REPLACE FUNCTION svc.pending_mfa_setup(account uuid, at timestamp with time zone)
 RETURNS TABLE(secret bytea, recovery_codes bytea)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select s.secret, s.recovery_codes from mfa_setups s where s.user_id = account and s.expires_at > at
$function$;

CREATE OR REPLACE FUNCTION svc.provision_sso_account(account uuid, mail text, display text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with made as (
    insert into users (id, email, name, status, created_at, updated_at) values (account, mail, display, 'active', at, at)
    on conflict (email) do nothing returning 1)
  select exists (select from made)
$function$;

CREATE OR REPLACE FUNCTION svc.read_invitation(token bytea, at timestamp with time zone)
 RETURNS TABLE(id uuid, email text, name text, partner_id uuid, org_id uuid, tenant_name text, tenants text[], min_length integer, account uuid, account_status text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select i.id, i.email, i.name, i.partner_id, i.org_id, coalesce(o.name, p.name),
    array_remove(array[p.name, o.name], null),
    (select coalesce(max(case when jsonb_typeof(s -> 'security' -> 'minLength') = 'number'
        then least((s -> 'security' ->> 'minLength')::numeric, 256)::integer end), 0)
      from unnest(array[p.settings, o.settings]) s),
    case when not svc.is_unclaimed(u.id) then u.id end, u.status
  from invitations i
    join partners p on p.id = i.partner_id and p.status in ('pending', 'active')
    left join organizations o on o.partner_id = i.partner_id and o.id = i.org_id
    left join users u on u.email = i.email
  where i.token_hash = token and i.expires_at > at and i.status = 'invited'
    and (i.org_id is null or (o.deleted_at is null and o.status in ('active', 'trial')))
$function$;

CREATE OR REPLACE FUNCTION svc.read_user_token(for_purpose text, token bytea, at timestamp with time zone)
 RETURNS TABLE(id uuid, email text, name text, avatar_url text, status text, mfa_method text, auth_epoch integer, platform_admin boolean, partner_id uuid, org_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select u.id, u.email, u.name, u.avatar_url, u.status, u.mfa_method, u.auth_epoch, u.platform_admin, h.partner_id, h.org_id
  from user_tokens t join users u on u.id = t.user_id left join lateral svc.homes_of(u.id, true) h on h.place = 1
  where t.token_hash = token and t.purpose = for_purpose and t.expires_at > at
$function$;

CREATE OR REPLACE FUNCTION svc.register_account(account uuid, mail text, display text, hash text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with made as (
    insert into users (id, email, name, status, password_hash, password_changed_at, created_at, updated_at)
    values (account, mail, display, 'active', hash, at, at, at)
    on conflict (email) do nothing returning 1)
  select exists (select from made)
$function$;

CREATE OR REPLACE FUNCTION svc.register_partner(partner uuid, display text, name_in_addresses text, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with made as (
    insert into partners (id, name, slug, created_at, updated_at) values (partner, display, name_in_addresses, at, at)
    on conflict (slug) do nothing returning 1)
  select exists (select from made)
$function$;

CREATE OR REPLACE FUNCTION svc.renew_login(account uuid, family uuid, token bytea, second_factor boolean, reason text, at timestamp with time zone, idle interval)
 RETURNS TABLE(auth_epoch integer, mfa boolean, idle_until timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare
  epoch integer;
  kept refresh_families;
begin
  update users u set auth_epoch = u.auth_epoch + 1 where u.id = account and u.status = 'active' returning u.auth_epoch into epoch;
  update refresh_families f set auth_epoch = epoch, mfa = f.mfa or second_factor,
      mfa_at = case when second_factor then at else f.mfa_at end
    where f.id = family and f.user_id = account and f.revoked_at is null and f.expires_at > at returning f.* into kept;
  if epoch is null or kept.id is null then return; end if;
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.user_id = account and f.id <> family and f.revoked_at is null;
  -- Over, rather than gone: a refresh that waits for the family's lock at this moment must find that its token is dead.
  update refresh_tokens t set idle_expires_at = '-infinity' where t.family_id = family;
  delete from mfa_challenges c where c.user_id = account;
  delete from mfa_setups s where s.user_id = account;
  delete from phone_codes c where c.user_id = account;
  insert into refresh_tokens (token_hash, family_id, created_at, idle_expires_at)
    values (token, family, at, least(at + idle, kept.expires_at));
  return query select epoch, kept.mfa, least(at + idle, kept.expires_at);
end $function$;

CREATE OR REPLACE FUNCTION svc.renew_second_factor(account uuid, family uuid, at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with renewed as (
    update refresh_families f set mfa = true, mfa_at = at
    where f.id = family and f.user_id = account and f.revoked_at is null
    returning 1)
  select exists (select from renewed)
$function$;

CREATE OR REPLACE FUNCTION svc.replace_recovery_codes(account uuid, hashes bytea[], at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with replaced as (
    update users u set recovery_code_hashes = hashes, updated_at = at
    where u.id = account and u.mfa_method is not null returning 1)
  select exists (select from replaced)
$function$;

CREATE OR REPLACE FUNCTION svc.scope()
 RETURNS jsonb
 LANGUAGE sql
 STABLE PARALLEL RESTRICTED
RETURN (NULLIF(current_setting('app.scope'::text, true), ''::text))::jsonb;

CREATE OR REPLACE FUNCTION svc.scope_all_orgs()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL RESTRICTED
RETURN COALESCE(CASE WHEN (jsonb_typeof(svc.scope()) = 'object'::text) THEN ((svc.scope() -> 'orgs'::text) = '"all"'::jsonb) ELSE NULL::boolean END, false);

CREATE OR REPLACE FUNCTION svc.scope_orgs()
 RETURNS uuid[]
 LANGUAGE sql
 STABLE PARALLEL RESTRICTED
RETURN CASE WHEN ((jsonb_typeof(svc.scope()) = 'object'::text) AND (jsonb_typeof((svc.scope() -> 'orgs'::text)) = 'array'::text)) THEN ARRAY(SELECT (jsonb_array_elements_text((svc.scope() -> 'orgs'::text)))::uuid AS jsonb_array_elements_text) ELSE '{}'::uuid[] END;

CREATE OR REPLACE FUNCTION svc.scope_partner()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE PARALLEL RESTRICTED
AS $function$
begin
  return (svc.scope() ->> 'partner')::uuid;
end $function$;

CREATE OR REPLACE FUNCTION svc.scope_partner_level()
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL RESTRICTED
RETURN COALESCE(CASE WHEN (jsonb_typeof(svc.scope()) = 'object'::text) THEN ((svc.scope() -> 'partnerLevel'::text) = 'true'::jsonb) ELSE NULL::boolean END, false);

CREATE OR REPLACE FUNCTION svc.scope_places()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE PARALLEL RESTRICTED
AS $function$
begin
  return svc.scope_orgs() || case when svc.scope_partner_level() then array[svc.scope_partner()] else '{}' end;
end $function$;

CREATE OR REPLACE FUNCTION svc.scope_system()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE PARALLEL RESTRICTED
AS $function$
begin
  return coalesce(current_setting('app.scope', true) = '"system"', false);
end $function$;

CREATE OR REPLACE FUNCTION svc.scope_whole_partner()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE PARALLEL RESTRICTED
AS $function$
declare s text := current_setting('app.scope', true);
begin
  if starts_with(s, '{"partner":"') and substring(s, 49) = '","orgs":"all"}' then
    return substring(s, 13, 36)::uuid;
  end if;
  return case when svc.scope() ->> 'orgs' = 'all' then (svc.scope() ->> 'partner')::uuid end;
end $function$;

CREATE OR REPLACE FUNCTION svc.seal_audit(p_most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
declare
  system constant uuid := '00000000-0000-0000-0000-000000000000';
  chain record;
  entry record;
  last_seq bigint;
  last_hash bytea;
  next_hash bytea;
  before bigint;
  sealed integer := 0;
begin
  for chain in
    select b.partner, array_agg(b.audit_id) as ids
    from (select u.audit_id, coalesce(a.partner_id, system) as partner
      from audit_unsealed u join audit_log a on a.id = u.audit_id order by u.audit_id limit p_most) b
    group by b.partner
  loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('svc.audit_seal ' || chain.partner, 0));
    -- Statements of their own: they see what the leader before has committed.
    select s.seq, s.hash into last_seq, last_hash from audit_seal s
      where s.partner = chain.partner order by s.seq desc limit 1;
    if not found then
      last_seq := 0;
      last_hash := decode(repeat('00', 32), 'hex');
    end if;
    before := last_seq;
    for entry in
      with taken as (delete from audit_unsealed u where u.audit_id = any (chain.ids) returning u.audit_id)
      select a.id, svc.audit_text(a) as bytes from taken t join audit_log a on a.id = t.audit_id
      where not exists (select from audit_seal s where s.audit_id = a.id) order by a.id
    loop
      next_hash := sha256('svc.audit.v1'::bytea || '\x00'::bytea || uuid_send(chain.partner) || int8send(last_seq + 1) || last_hash
        || convert_to(entry.bytes, 'UTF8'));
      insert into audit_seal (partner, seq, audit_id, hash)
        select chain.partner, last_seq + 1, entry.id, next_hash
        where last_seq = 0
          or exists (select from audit_seal s where s.partner = chain.partner and s.seq = last_seq and s.hash = last_hash);
      if not found then
        raise exception 'the chain of % does not end as it did: seq %', chain.partner, last_seq;
      end if;
      last_seq := last_seq + 1;
      last_hash := next_hash;
    end loop;
    if last_seq > before then
      insert into audit_heads_owed (partner, seq, hash) values (chain.partner, last_seq, last_hash);
      sealed := sealed + (last_seq - before);
    end if;
  end loop;
  return sealed;
end $function$;

CREATE OR REPLACE FUNCTION svc.sealed_under(sealed bytea)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO 'pg_catalog'
AS $function$
  select case when octet_length(sealed) >= 33 then encode(substring(sealed from 2 for 4), 'hex') end $function$;

CREATE OR REPLACE FUNCTION svc.second_factor_of(account uuid)
 RETURNS TABLE(mfa_method text, totp_secret bytea, phone_number text, phone_verified boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select u.mfa_method, u.totp_secret, u.phone_number, u.phone_verified from users u where u.id = account
$function$;

CREATE OR REPLACE FUNCTION svc.security_of(account uuid)
 RETURNS TABLE(min_length integer, require_mfa boolean, sms_allowed boolean, tenants text[])
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with tenants as (
    select p.name, p.settings -> 'security' as security from partners p
    where p.id in (select m.partner_id from partner_memberships m where m.user_id = account
      union all select m.partner_id from organization_memberships m where m.user_id = account)
    union all
    select o.name, o.settings -> 'security' from organizations o
    where o.id in (select m.org_id from organization_memberships m where m.user_id = account)
  )
  select
    coalesce(max(case when jsonb_typeof(t.security -> 'minLength') = 'number'
      then least((t.security ->> 'minLength')::numeric, 256)::integer end), 0),
    coalesce(bool_or(t.security -> 'requireMfa' = 'true'), false),
    not coalesce(bool_or(coalesce(t.security -> 'allowedMfaMethods', t.security -> 'allowedMethods') -> 'sms' = 'false'), false),
    coalesce(array_agg(t.name), '{}')
  from tenants t
$function$;

CREATE OR REPLACE FUNCTION svc.set_challenge_code(token bytea, hash bytea, at timestamp with time zone, until timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with set_code as (
    update mfa_challenges c set sms_code_hash = hash, sms_expires_at = until
    where c.token_hash = token and c.expires_at > at returning 1)
  select exists (select from set_code)
$function$;

CREATE OR REPLACE FUNCTION svc.set_password(account uuid, hash text, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update users u set password_hash = hash, password_changed_at = at, updated_at = at where u.id = account;
  delete from user_tokens t where t.user_id = account;
$function$;

CREATE OR REPLACE FUNCTION svc.set_phone(account uuid, phone text, at timestamp with time zone)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update users u set phone_number = phone, phone_verified = true, updated_at = at where u.id = account
$function$;

CREATE OR REPLACE FUNCTION svc.sms_challenge(token bytea, at timestamp with time zone)
 RETURNS TABLE(id uuid, email text, mfa_method text, phone_number text, partner_id uuid, org_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select u.id, u.email, u.mfa_method, case when u.phone_verified then u.phone_number end, h.partner_id, h.org_id
  from mfa_challenges c join users u on u.id = c.user_id left join lateral svc.homes_of(u.id) h on h.place = 1
  where c.token_hash = token and c.expires_at > at and u.status = 'active'
$function$;

CREATE OR REPLACE FUNCTION svc.sso_account(provider uuid, subject_said text, mail text)
 RETURNS TABLE(id uuid, email text, name text, avatar_url text, status text, auth_epoch integer, mfa_method text, linked boolean, other_subject boolean, member boolean, wider boolean, proved boolean, has_password boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare account uuid; by_subject boolean;
begin
  perform pg_advisory_xact_lock(hashtextextended('svc.sso.subject ' || provider || ' ' || subject_said, 0));
  perform pg_advisory_xact_lock(hashtextextended('svc.sso.mail ' || mail, 0));
  select i.user_id into account from sso_identities i where i.provider_id = provider and i.subject = subject_said;
  by_subject := found;
  if not found then select u.id into account from users u where u.email = mail; end if;
  -- Neither disabled nor removed from here on: who does so waits for this row, or was before.
  perform from users u where u.id = account for no key update;
  return query
    select u.id, u.email, u.name, u.avatar_url, u.status, u.auth_epoch, u.mfa_method, by_subject,
      exists (select from sso_identities i where i.provider_id = provider and i.user_id = u.id and i.subject <> subject_said),
      svc.is_sso_member(u.id, p.org_id),
      u.platform_admin or exists (select from partner_memberships m where m.user_id = u.id),
      u.email_verified_at is not null, u.password_hash is not null
    from users u, sso_providers p where u.id = account and p.id = provider;
end $function$;

CREATE OR REPLACE FUNCTION svc.sso_of_session(family uuid)
 RETURNS TABLE(provider_id uuid, mfa boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select f.sso_provider_id, f.sso_mfa from refresh_families f where f.id = family and f.sso_provider_id is not null
$function$;

CREATE OR REPLACE FUNCTION svc.sso_provider_of(org uuid)
 RETURNS TABLE(id uuid, partner_id uuid, org_id uuid, name text, type text, issuer text, client_id text, client_secret bytea, scopes text, metadata jsonb, discovered_at timestamp with time zone, enforce_sso boolean, config_version integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  select p.id, p.partner_id, p.org_id, p.name, p.type, p.issuer, p.client_id, p.client_secret, p.scopes, p.metadata,
    p.discovered_at, p.enforce_sso, p.config_version
  from sso_providers p
    join organizations o on o.id = p.org_id and o.deleted_at is null and o.status in ('active', 'trial')
    join partners t on t.id = p.partner_id and t.status in ('pending', 'active')
  where p.org_id = org and p.status = 'active'
$function$;

CREATE OR REPLACE FUNCTION svc.store_successor(family uuid, used bytea, token bytea, at timestamp with time zone, idle_until timestamp with time zone, retry_key bytea, answer bytea)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  insert into refresh_tokens (token_hash, family_id, created_at, idle_expires_at) values (token, family, at, idle_until);
  -- Answers to older rotations of this family are of no use to anybody any more.
  update refresh_tokens t set retry_key_hash = null, retry_answer = null
    where t.family_id = family and t.retry_answer is not null;
  update refresh_tokens t set retry_key_hash = retry_key, retry_answer = answer where t.token_hash = used;
$function$;

CREATE OR REPLACE FUNCTION svc.take_sso_login(state bytea, browser bytea, at timestamp with time zone)
 RETURNS TABLE(outcome text, id uuid, sealed bytea, provider_id uuid, partner_id uuid, org_id uuid, issuer text, client_id text, client_secret bytea, scopes text, metadata jsonb, discovered_at timestamp with time zone, attribute_mapping jsonb, auto_provision boolean, default_role_id uuid, allowed_domains text[], trusts_idp_mfa boolean, config_version integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare taken sso_logins;
begin
  delete from sso_logins l where l.state_hash = state and l.browser_hash = browser returning l.* into taken;
  return query
    select case
        when taken.id is null then 'foreign'
        when taken.expires_at <= at then 'expired'
        when p.id is null or p.status <> 'active' or o.id is null or t.id is null then 'gone'
        when p.config_version <> taken.config_version then 'changed'
        else 'taken' end,
      taken.id, taken.sealed, p.id, p.partner_id, p.org_id, p.issuer, p.client_id, p.client_secret, p.scopes, p.metadata,
      p.discovered_at, p.attribute_mapping, p.auto_provision, p.default_role_id, p.allowed_domains, p.trusts_idp_mfa, p.config_version
    from (select coalesce(taken.provider_id, l.provider_id) as provider_id
        from (select 1) one left join sso_logins l on l.state_hash = state and taken.id is null) login
      left join sso_providers p on p.id = login.provider_id
      left join organizations o on o.id = p.org_id and o.deleted_at is null and o.status in ('active', 'trial')
      left join partners t on t.id = p.partner_id and t.status in ('pending', 'active')
    where login.provider_id is not null;
end $function$;

CREATE OR REPLACE PROCEDURE svc.tenant_table(IN t regclass)
 LANGUAGE plpgsql
AS $procedure$
begin
  execute format('alter table %s enable row level security', t);
  execute format('alter table %s force row level security', t);
  execute format($p$create policy tenant on %s
    using (partner_id = (select svc.scope_whole_partner()) or (select svc.scope_system())
      or (partner_id = (select svc.scope_partner())
        and coalesce(org_id, partner_id) = any ((select svc.scope_places())::uuid[])))$p$, t);
end $procedure$;

CREATE OR REPLACE FUNCTION svc.try_mfa_challenge(token bytea, at timestamp with time zone, most integer)
 RETURNS TABLE(id uuid, email text, name text, avatar_url text, status text, mfa_method text, totp_secret bytea, sms_code_hash bytea, auth_epoch integer, platform_admin boolean, partner_id uuid, org_id uuid, invite_hash bytea)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare tried mfa_challenges;
begin
  update mfa_challenges c set attempts = c.attempts + 1
    where c.token_hash = token and c.expires_at > at and c.attempts < most
    returning c.* into tried;
  if tried.user_id is null then return; end if;
  return query
    select u.id, u.email, u.name, u.avatar_url, u.status, u.mfa_method, u.totp_secret,
      case when tried.sms_expires_at > at then tried.sms_code_hash end, u.auth_epoch, u.platform_admin, h.partner_id, h.org_id,
      tried.invite_hash
    from users u left join lateral svc.homes_of(u.id) h on h.place = 1
    where u.id = tried.user_id;
end $function$;

CREATE OR REPLACE FUNCTION svc.try_phone_code(account uuid, at timestamp with time zone, most integer)
 RETURNS TABLE(phone_number text, code_hash bytea)
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update phone_codes c set attempts = c.attempts + 1
    where c.user_id = account and c.expires_at > at and c.attempts < most
    returning c.phone_number, c.code_hash
$function$;

CREATE OR REPLACE FUNCTION svc.upgrade_password_hash(account uuid, checked text, better text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  update users u set password_hash = better where u.id = account and u.password_hash = checked
$function$;

CREATE OR REPLACE FUNCTION svc.use_enrollment_key(hash bytea)
 RETURNS TABLE(key_id uuid, partner_id uuid, org_id uuid, site_id uuid, refusal text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
begin
  return query
    update enrollment_keys k set usage_count = k.usage_count + 1
    from organizations o, partners p
    where k.key_hash = hash and k.revoked_at is null and k.expires_at > now()
      and (k.max_usage is null or k.usage_count < k.max_usage)
      and o.id = k.org_id and o.deleted_at is null and o.status in ('active', 'trial')
      and p.id = k.partner_id and p.status in ('pending', 'active')
    returning k.id, k.partner_id, k.org_id, k.site_id, null::text;
  if found then return; end if;
  return query
    select k.id, k.partner_id, k.org_id, k.site_id, case
      when k.id is null then 'unknown'
      when k.revoked_at is not null then 'revoked'
      when k.expires_at <= now() then 'expired'
      when k.max_usage is not null and k.usage_count >= k.max_usage then 'exhausted'
      else 'organization inactive' end
    from (values (1)) one (row) left join enrollment_keys k on k.key_hash = hash;
end $function$;

CREATE OR REPLACE FUNCTION svc.use_enrollment_key_of_device(hash bytea, device_key bytea)
 RETURNS TABLE(key_id uuid, partner_id uuid, org_id uuid, site_id uuid, refusal text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
begin
  -- Behind whoever uses the key now: that may be the same device.
  perform from enrollment_keys k where k.key_hash = hash for no key update;
  return query
    select k.id, k.partner_id, k.org_id, k.site_id, null::text
    from enrollment_keys k
    join organizations o on o.id = k.org_id and o.deleted_at is null and o.status in ('active', 'trial')
    join partners p on p.id = k.partner_id and p.status in ('pending', 'active')
    join devices d on d.partner_id = k.partner_id and d.org_id = k.org_id and d.public_key = device_key
      and d.enrollment_key_id = k.id and d.lifecycle = 'active'
    join device_presence s on s.device_id = d.id and s.last_seen_at is null
    where k.key_hash = hash and k.revoked_at is null and k.expires_at > now();
  if found then return; end if;
  return query select u.key_id, u.partner_id, u.org_id, u.site_id, u.refusal from use_enrollment_key(hash) u;
end $function$;

CREATE OR REPLACE FUNCTION svc.use_phone_code(account uuid, hash bytea)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with used as (delete from phone_codes c where c.user_id = account and c.code_hash = hash returning 1)
  select exists (select from used)
$function$;

CREATE OR REPLACE FUNCTION svc.use_recovery_code(account uuid, code bytea)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with used as (
    update users u set recovery_code_hashes = array_remove(u.recovery_code_hashes, code)
    where u.id = account and code = any (u.recovery_code_hashes)
    returning 1)
  select exists (select from used)
$function$;

CREATE OR REPLACE FUNCTION svc.use_refresh_token(token bytea, retry_key bytea, at timestamp with time zone, race_for interval, retry_for interval)
 RETURNS TABLE(outcome text, family_id uuid, user_id uuid, email text, auth_epoch integer, mfa boolean, mfa_at timestamp with time zone, until timestamp with time zone, retry_answer bytea, partner_id uuid, org_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
declare
  family refresh_families;
  presented refresh_tokens;
  account users;
  verdict text;
  belongs boolean;
begin
  select f.* into family from refresh_families f
    where f.id = (select t.family_id from refresh_tokens t where t.token_hash = token) for update;
  if not found then
    return query select 'dead', null::uuid, null::uuid, null::text, null::integer, null::boolean, null::timestamptz,
      null::timestamptz, null::bytea, null::uuid, null::uuid;
    return;
  end if;
  -- Read after the lock: what a parallel refresh did while this one waited is seen.
  select t.* into presented from refresh_tokens t where t.token_hash = token;
  select u.* into account from users u where u.id = family.user_id;
  verdict := case
    when family.revoked_at is not null or family.expires_at <= at or presented.idle_expires_at <= at
      or account.status <> 'active' or account.auth_epoch <> family.auth_epoch then 'dead'
    when presented.used_at is null then 'rotate'
    when presented.used_at + retry_for > at and presented.retry_key_hash = retry_key then 'retried'
    when presented.used_at + race_for > at then 'raced'
    else 'reused' end;
  -- The membership that the login is for must still be there.
  belongs := (family.partner_id is null and account.platform_admin) or exists (select from svc.homes_of(account.id) h
    where h.partner_id = family.partner_id and h.org_id is not distinct from family.org_id);
  if verdict in ('rotate', 'retried') and not belongs then verdict := 'dead'; end if;
  if verdict = 'rotate' then
    update refresh_tokens t set used_at = at where t.token_hash = token;
  elsif verdict = 'reused' then
    update refresh_families f set revoked_at = at, revoked_reason = 'reuse' where f.id = family.id;
  end if;
  return query
    select verdict, family.id, family.user_id, account.email, family.auth_epoch, family.mfa, family.mfa_at,
      family.expires_at, presented.retry_answer, family.partner_id, family.org_id;
end $function$;

CREATE OR REPLACE FUNCTION svc.use_sso_code(code bytea, browser bytea, at timestamp with time zone)
 RETURNS TABLE(id uuid, email text, name text, avatar_url text, auth_epoch integer, mfa_method text, partner_id uuid, org_id uuid, provider_id uuid, mfa boolean, mfa_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
#variable_conflict use_column
begin
  perform svc.hold_sso_provider(c.provider_id) from sso_codes c where c.code_hash = code and c.browser_hash = browser;
  return query
    with used as (
      delete from sso_codes c where c.code_hash = code and c.browser_hash = browser and c.expires_at > at returning c.*)
    select u.id, u.email, u.name, u.avatar_url, u.auth_epoch, u.mfa_method, p.partner_id, p.org_id, p.id, c.mfa, c.mfa_at
    from used c join users u on u.id = c.user_id and u.status = 'active'
      join sso_providers p on p.id = c.provider_id and p.status = 'active'
      join lateral svc.homes_of(u.id) h on h.org_id = p.org_id;
end $function$;

CREATE OR REPLACE FUNCTION svc.use_totp_step(account uuid, step bigint)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with used as (
    update users u set totp_last_step = step
    where u.id = account and (u.totp_last_step is null or u.totp_last_step < step)
    returning 1)
  select exists (select from used)
$function$;

CREATE OR REPLACE FUNCTION svc.use_user_token(for_purpose text, token bytea, at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
AS $function$
  with used as (
    delete from user_tokens t where t.token_hash = token and t.purpose = for_purpose and t.expires_at > at
    returning t.user_id)
  update users u set email_verified_at = coalesce(u.email_verified_at, at) from used where u.id = used.user_id
  returning u.id
$function$;

CREATE OR REPLACE FUNCTION svc.words_of(p_text text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT DISTINCT "left"(w.word, 64) AS "left" FROM regexp_split_to_table(lower(words_of.p_text), '[\u0001-\u002f\u003a-\u0060\u007b-\u007f]+'::text) w(word) WHERE (w.word <> ''::text) LIMIT 100);

CREATE OR REPLACE FUNCTION svc.words_of_audit(a svc.audit_log)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN array_to_tsvector(array_remove((ARRAY[('p:'::text || (a).partner_id), ('o:'::text || COALESCE(((a).org_id)::text, '-'::text)), ('u:'::text || (a).actor_id), ('e:'::text || "left"(lower((a).actor_email), 255)), ('a:'::text || "left"(lower((a).action), 255)), ('t:'::text || "left"(lower((a).resource_type), 255)), ('i:'::text || (a).resource_id), ('n:'::text || "left"(lower((a).resource_name), 255)), ('r:'::text || (a).result)] || svc.words_of(concat_ws(' '::text, (a).action, (a).resource_type, (a).resource_name, (a).actor_email, "left"((SELECT string_agg((d.value #>> '{}'::text[]), ' '::text) AS string_agg FROM jsonb_path_query((words_of_audit.a).details, 'strict $.**?(@.type() == "string")'::jsonpath) d(value)), 2000)))), NULL::text));

CREATE OR REPLACE FUNCTION svc.words_query(p_text text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (SELECT (string_agg((((''''::text || "left"(w.part[1], 64)) || ''''::text) || CASE WHEN ((w.part[2] = '*'::text) AND (length(w.part[1]) >= 3)) THEN ':*'::text ELSE ''::text END), ' & '::text))::tsquery AS string_agg FROM regexp_matches(lower(words_query.p_text), '([^\u0001-\u002f\u003a-\u0060\u007b-\u007f]+)(\*?)'::text, 'g'::text) w(part));

CREATE OR REPLACE FUNCTION svc.write_audit(p_row jsonb)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'svc', 'pg_temp'
 SET "app.scope" TO '"system"'
BEGIN ATOMIC
 INSERT INTO svc.audit_log (id, at, partner_id, org_id, actor_type, actor_id, actor_email, on_behalf_of, action, resource_type, resource_id, resource_name, result, details, ip, user_agent, request_id)  SELECT r.id,
             r.at,
             r.partner_id,
             r.org_id,
             r.actor_type,
             r.actor_id,
             r.actor_email,
             r.on_behalf_of,
             r.action,
             r.resource_type,
             r.resource_id,
             r.resource_name,
             r.result,
             r.details,
             r.ip,
             r.user_agent,
             r.request_id
            FROM jsonb_populate_record(NULL::svc.audit_log, write_audit.p_row) r(id, at, partner_id, org_id, actor_type, actor_id, actor_email, action, resource_type, resource_id, resource_name, result, details, ip, user_agent, request_id, on_behalf_of);
END;

-- grants

grant insert, select, update on svc.access_review_items to svc_app;
grant delete, insert, select, update on svc.access_review_items to svc_worker;
grant insert, select, update on svc.access_reviews to svc_app;
grant delete, insert, select, update on svc.access_reviews to svc_worker;
grant insert, update on svc.api_keys to svc_app;
grant delete, insert, select, update on svc.api_keys to svc_worker;
grant delete, select on svc.audit_heads_owed to svc_worker;
grant select on svc.audit_log to svc_app;
grant select on svc.audit_log to svc_worker;
grant select on svc.audit_seal to svc_worker;
grant select on svc.audit_unsealed to svc_worker;
grant select on svc.base_backup to svc_worker;
grant insert, select, update on svc.commands to svc_app;
grant delete, insert, select, update on svc.commands to svc_worker;
grant select on svc.database_lives to svc_app;
grant insert, select on svc.database_lives to svc_worker;
grant select on svc.device_disks to svc_app;
grant delete, insert, select, update on svc.device_disks to svc_worker;
grant insert, select on svc.device_group_log to svc_app;
grant delete, insert, select, update on svc.device_group_log to svc_worker;
grant delete, insert, select on svc.device_group_members to svc_app;
grant delete, insert, select, update on svc.device_group_members to svc_worker;
grant delete, insert, select, update on svc.device_groups to svc_app;
grant delete, insert, select, update on svc.device_groups to svc_worker;
grant insert, select on svc.device_hardware to svc_app;
grant delete, insert, select, update on svc.device_hardware to svc_worker;
grant delete on svc.device_instances to svc_app;
grant delete, insert, select, update on svc.device_instances to svc_worker;
grant select on svc.device_inventory to svc_app;
grant delete, insert, select, update on svc.device_inventory to svc_worker;
grant select on svc.device_network_interfaces to svc_app;
grant delete, insert, select, update on svc.device_network_interfaces to svc_worker;
grant select on svc.device_networks to svc_app;
grant delete, insert, select, update on svc.device_networks to svc_worker;
grant delete, insert, select on svc.device_past_tokens to svc_worker;
grant insert, select on svc.device_presence to svc_app;
grant delete, insert, select, update on svc.device_presence to svc_worker;
grant select on svc.device_software to svc_app;
grant delete, insert, select, update on svc.device_software to svc_worker;
grant select on svc.device_updates to svc_app;
grant delete, insert, select, update on svc.device_updates to svc_worker;
grant insert, update on svc.devices to svc_app;
grant delete, insert, select, update on svc.devices to svc_worker;
grant delete, insert, select, update on svc.edge_watermarks to svc_worker;
grant insert, update on svc.enrollment_keys to svc_app;
grant delete, insert, select, update on svc.enrollment_keys to svc_worker;
grant select on svc.gateway_nodes to svc_app;
grant delete, insert, select, update on svc.gateway_nodes to svc_worker;
grant insert, select, update on svc.idempotency to svc_app;
grant delete, select on svc.idempotency to svc_worker;
grant delete, insert, update on svc.invitations to svc_app;
grant delete, insert, select, update on svc.job_pools to svc_worker;
grant insert, select, update on svc.job_tasks to svc_worker;
grant delete, select on svc.mfa_challenges to svc_worker;
grant delete, select on svc.mfa_setups to svc_worker;
grant delete, insert, select, update on svc.organization_memberships to svc_app;
grant delete, insert, select, update on svc.organization_memberships to svc_worker;
grant insert, select, update on svc.organizations to svc_app;
grant insert, select, update on svc.organizations to svc_worker;
grant insert, select on svc.outbox to svc_app;
grant delete, insert, select, update on svc.outbox to svc_worker;
grant delete, insert, select, update on svc.partner_memberships to svc_app;
grant delete, insert, select, update on svc.partner_memberships to svc_worker;
grant insert, select, update on svc.partners to svc_app;
grant insert, select, update on svc.partners to svc_worker;
grant delete, select on svc.phone_codes to svc_worker;
grant delete, insert, select, update on svc.rate_limits to svc_app;
grant delete, insert, select, update on svc.rate_limits to svc_worker;
grant delete, select on svc.refresh_families to svc_worker;
grant delete, select on svc.refresh_tokens to svc_worker;
grant insert, select on svc.release_assets to svc_app;
grant insert, select on svc.release_assets to svc_worker;
grant insert, select on svc.releases to svc_app;
grant insert, select on svc.releases to svc_worker;
grant insert on svc.revocations to svc_app;
grant delete, insert, select on svc.revocations to svc_worker;
grant delete, insert, select on svc.role_permissions to svc_app;
grant delete, insert, select on svc.role_permissions to svc_worker;
grant delete, insert, select, update on svc.roles to svc_app;
grant insert, select, update on svc.roles to svc_worker;
grant delete, insert, select, update on svc.schedule_entries to svc_app;
grant delete, insert, select, update on svc.schedule_entries to svc_worker;
grant select on svc.schedule_runs to svc_app;
grant delete, insert, select on svc.schedule_runs to svc_worker;
grant delete, insert, select, update on svc.schedules to svc_worker;
grant delete, insert, select, update on svc.sealing_key_holders to svc_worker;
grant insert, select on svc.sealing_keys to svc_worker;
grant select, update on svc.shard_leases to svc_worker;
grant delete, insert, select, update on svc.sites to svc_app;
grant delete, insert, select, update on svc.sites to svc_worker;
grant delete, select on svc.sso_codes to svc_worker;
grant delete, insert, select, update on svc.sso_identities to svc_app;
grant delete, insert, select, update on svc.sso_identities to svc_worker;
grant delete, select on svc.sso_logins to svc_worker;
grant delete, insert, update on svc.sso_providers to svc_app;
grant delete, insert, select, update on svc.sso_providers to svc_worker;
grant delete, select on svc.user_tokens to svc_worker;
grant insert, select, update on svc.users to svc_worker;
grant delete, insert, select, update on svc.workers to svc_worker;
grant select (id, partner_id, org_id, member_org, name, prefix, scopes, rate_limit, ip_allowlist, expires_at, revoked_at, generation, usage_count, last_used_at, created_by, created_at, updated_at) on svc.api_keys to svc_app;
grant update (told_at) on svc.database_lives to svc_app;
grant select (device_id, partner_id, org_id) on svc.device_instances to svc_app;
grant update (org_id, config_version) on svc.device_presence to svc_app;
grant select (id, partner_id, org_id, site_id, hostname, hostname_key, display_name, os_type, os_name, os_version, os_build, architecture, agent_version, helper_version, watchdog_version, device_role, tags, custom_fields, auto_update_enabled, is_virtual, virtualization_platform, boot_id, pending_reboot, last_user, last_seen_ip, enrollment_ip, enrollment_key_id, enrolled_at, enrolled_rank, lifecycle, connectivity, activity, in_maintenance, status, offline_seen_at, last_seen_rank, main_agent_silent_since, watchdog_status, decommissioned_at, credential_version, token_issued_at, created_at, updated_at, flapping_since, quarantined_at, quarantine_reason) on svc.devices to svc_app;
grant select (id, partner_id, org_id, site_id, name, max_usage, usage_count, expires_at, revoked_at, created_by, created_at) on svc.enrollment_keys to svc_app;
grant select (id, partner_id, org_id, email, name, status, role_id, org_access, org_ids, site_ids, device_group_ids, expires_at, created_at, updated_at) on svc.invitations to svc_app;
grant update (is_latest) on svc.release_assets to svc_app;
grant update (is_latest) on svc.release_assets to svc_worker;
grant select (sealed_under) on svc.sso_logins to svc_worker;
grant select (id, partner_id, org_id, name, type, status, issuer, client_id, scopes, attribute_mapping, metadata, discovered_at, auto_provision, default_role_id, allowed_domains, enforce_sso, trusts_idp_mfa, config_version, created_by, created_at, updated_at) on svc.sso_providers to svc_app;
grant select (id, org_id, client_secret, client_secret_under), update (client_secret) on svc.sso_providers to svc_worker;
grant select (id, email, name, status, avatar_url, password_changed_at, phone_number, phone_verified, mfa_method, last_login_at, created_at, updated_at, email_verified_at) on svc.users to svc_app;
grant execute on routine svc.accept_invitation(bytea,uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.accept_sso_invitation(uuid,uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.activate_account(uuid,timestamp with time zone) to svc_app;
grant execute on routine svc.audit_among(uuid[],tsquery) to svc_app;
grant execute on routine svc.audit_matches(tsquery,integer) to svc_app;
grant execute on routine svc.await_invitation(bytea,bytea) to svc_app;
grant execute on routine svc.begin_mfa_setup(uuid,bytea,bytea,bytea[],timestamp with time zone) to svc_app;
grant execute on routine svc.begin_phone_check(uuid,text,bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.begin_sso_login(uuid,uuid,integer,bytea,bytea,bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.challenge_home(bytea,uuid) to svc_app;
grant execute on routine svc.change_account(uuid,uuid,uuid,text,text,timestamp with time zone) to svc_app;
grant execute on routine svc.change_own_profile(uuid,text,text,boolean,timestamp with time zone) to svc_app;
grant execute on routine svc.change_password(uuid,text,text,timestamp with time zone) to svc_app;
grant execute on routine svc.close_mfa_challenge(bytea) to svc_app;
grant execute on routine svc.confirm_mfa_setup(uuid,bytea,bigint,timestamp with time zone) to svc_app;
grant execute on routine svc.database_identity() to svc_worker;
grant execute on routine svc.device_of_key(uuid,bytea) to svc_app;
grant execute on routine svc.devices_of_partner(uuid) to svc_app;
grant execute on routine svc.disable_second_factor(uuid,timestamp with time zone) to svc_app;
grant execute on routine svc.enable_sms_factor(uuid,bytea[],timestamp with time zone) to svc_app;
grant execute on routine svc.end_membership_sessions(uuid,uuid,uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.end_password_sessions(uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.end_sessions(uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.end_sso_sessions(uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.end_tenant_sessions(uuid,uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.enqueue(text,jsonb,text,timestamp with time zone,text,integer) to svc_app;
grant execute on routine svc.enqueue(text,jsonb,text,timestamp with time zone,text,integer) to svc_worker;
grant execute on routine svc.hold_password_login(uuid) to svc_app;
grant execute on routine svc.invite_account(uuid,text,text,timestamp with time zone) to svc_app;
grant execute on routine svc.is_of_organization_alone(uuid,uuid) to svc_app;
grant execute on routine svc.issue_sso_code(bytea,uuid,uuid,bytea,boolean,timestamp with time zone,timestamp with time zone) to svc_app;
grant execute on routine svc.issue_user_token(uuid,text,bytea,timestamp with time zone,timestamp with time zone) to svc_app;
grant execute on routine svc.issue_user_token(uuid,text,bytea,timestamp with time zone,timestamp with time zone) to svc_worker;
grant execute on routine svc.load_api_key(bytea) to svc_app;
grant execute on routine svc.load_caller(uuid) to svc_app;
grant execute on routine svc.login_account(text) to svc_app;
grant execute on routine svc.mark_sso_challenge(bytea,uuid) to svc_app;
grant execute on routine svc.mark_sso_session(uuid,uuid,boolean,timestamp with time zone) to svc_app;
grant execute on routine svc.note_api_key_uses(jsonb) to svc_app;
grant execute on routine svc.note_sso_metadata(uuid,integer,jsonb,timestamp with time zone) to svc_app;
grant execute on routine svc.open_challenge(uuid,integer,bytea,timestamp with time zone,timestamp with time zone) to svc_app;
grant execute on routine svc.open_mfa_challenge(uuid,bytea,timestamp with time zone,timestamp with time zone) to svc_app;
grant execute on routine svc.open_session(uuid,integer,uuid,uuid,uuid,bytea,boolean,timestamp with time zone,timestamp with time zone,timestamp with time zone) to svc_app;
grant execute on routine svc.own_account(uuid) to svc_app;
grant execute on routine svc.password_home(uuid) to svc_app;
grant execute on routine svc.password_home(uuid) to svc_worker;
grant execute on routine svc.password_of(uuid) to svc_app;
grant execute on routine svc.pending_mfa_setup(uuid,timestamp with time zone) to svc_app;
grant execute on routine svc.provision_sso_account(uuid,text,text,timestamp with time zone) to svc_app;
grant execute on routine svc.read_invitation(bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.read_user_token(text,bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.register_account(uuid,text,text,text,timestamp with time zone) to svc_app;
grant execute on routine svc.register_partner(uuid,text,text,timestamp with time zone) to svc_app;
grant execute on routine svc.renew_login(uuid,uuid,bytea,boolean,text,timestamp with time zone,interval) to svc_app;
grant execute on routine svc.renew_second_factor(uuid,uuid,timestamp with time zone) to svc_app;
grant execute on routine svc.replace_recovery_codes(uuid,bytea[],timestamp with time zone) to svc_app;
grant execute on routine svc.scope() to svc_app;
grant execute on routine svc.scope() to svc_worker;
grant execute on routine svc.scope_all_orgs() to svc_app;
grant execute on routine svc.scope_all_orgs() to svc_worker;
grant execute on routine svc.scope_orgs() to svc_app;
grant execute on routine svc.scope_orgs() to svc_worker;
grant execute on routine svc.scope_partner() to svc_app;
grant execute on routine svc.scope_partner() to svc_worker;
grant execute on routine svc.scope_partner_level() to svc_app;
grant execute on routine svc.scope_partner_level() to svc_worker;
grant execute on routine svc.scope_places() to svc_app;
grant execute on routine svc.scope_places() to svc_worker;
grant execute on routine svc.scope_system() to svc_app;
grant execute on routine svc.scope_system() to svc_worker;
grant execute on routine svc.scope_whole_partner() to svc_app;
grant execute on routine svc.scope_whole_partner() to svc_worker;
grant execute on routine svc.seal_audit(integer) to svc_worker;
grant execute on routine svc.sealed_under(bytea) to svc_app;
grant execute on routine svc.sealed_under(bytea) to svc_worker;
grant execute on routine svc.second_factor_of(uuid) to svc_app;
grant execute on routine svc.security_of(uuid) to svc_app;
grant execute on routine svc.set_challenge_code(bytea,bytea,timestamp with time zone,timestamp with time zone) to svc_app;
grant execute on routine svc.set_password(uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.set_phone(uuid,text,timestamp with time zone) to svc_app;
grant execute on routine svc.sms_challenge(bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.sso_account(uuid,text,text) to svc_app;
grant execute on routine svc.sso_of_session(uuid) to svc_app;
grant execute on routine svc.sso_provider_of(uuid) to svc_app;
grant execute on routine svc.store_successor(uuid,bytea,bytea,timestamp with time zone,timestamp with time zone,bytea,bytea) to svc_app;
grant execute on routine svc.take_sso_login(bytea,bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.try_mfa_challenge(bytea,timestamp with time zone,integer) to svc_app;
grant execute on routine svc.try_phone_code(uuid,timestamp with time zone,integer) to svc_app;
grant execute on routine svc.upgrade_password_hash(uuid,text,text) to svc_app;
grant execute on routine svc.use_enrollment_key(bytea) to svc_app;
grant execute on routine svc.use_enrollment_key_of_device(bytea,bytea) to svc_app;
grant execute on routine svc.use_phone_code(uuid,bytea) to svc_app;
grant execute on routine svc.use_recovery_code(uuid,bytea) to svc_app;
grant execute on routine svc.use_refresh_token(bytea,bytea,timestamp with time zone,interval,interval) to svc_app;
grant execute on routine svc.use_sso_code(bytea,bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.use_totp_step(uuid,bigint) to svc_app;
grant execute on routine svc.use_user_token(text,bytea,timestamp with time zone) to svc_app;
grant execute on routine svc.words_of(text) to svc_app;
grant execute on routine svc.words_query(text) to svc_app;
grant execute on routine svc.write_audit(jsonb) to svc_app;
grant execute on routine svc.write_audit(jsonb) to svc_worker;
