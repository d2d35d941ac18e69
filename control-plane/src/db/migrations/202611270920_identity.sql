set local role svc_owner;

-- Roles always belong to a partner; org_id null is a role of the partner's own level.
create table svc.roles (
  id uuid primary key,
  partner_id uuid not null references svc.partners (id),
  org_id uuid,
  parent_role_id uuid,
  scope text not null check (scope in ('partner', 'organization')),
  name text not null check (length(name) between 1 and 100),
  description text,
  is_system boolean not null default false,
  force_mfa boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (partner_id, id),
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id),
  foreign key (partner_id, parent_role_id) references svc.roles (partner_id, id),
  check ((scope = 'organization') = (org_id is not null))
);
call svc.tenant_table('svc.roles');
grant select on svc.roles to svc_app;
grant select, insert, update on svc.roles to svc_worker;

create table svc.role_permissions (
  role_id uuid not null,
  partner_id uuid not null,
  org_id uuid,
  resource text not null check (length(resource) <= 100),
  action text not null check (length(action) <= 50),
  primary key (role_id, resource, action),
  foreign key (partner_id, role_id) references svc.roles (partner_id, id) on delete cascade
);
call svc.tenant_table('svc.role_permissions');
grant select on svc.role_permissions to svc_app;
grant select, insert, delete on svc.role_permissions to svc_worker;

-- An account is nobody's property: tenants see it through its memberships only (policy below).
create table svc.users (
  id uuid primary key,
  email text not null check (length(email) <= 255 and email = lower(email)),
  name text not null check (length(name) <= 255),
  status text not null default 'invited' check (status in ('active', 'invited', 'disabled')),
  avatar_url text,
  password_hash text,
  password_changed_at timestamptz,
  phone_number text,
  phone_verified boolean not null default false,
  mfa_method text check (mfa_method in ('totp', 'sms')),
  totp_secret bytea,                       -- sealed
  totp_last_step bigint,                   -- RFC 6238 §5.2: a step is accepted once
  recovery_code_hashes bytea[] not null default '{}',
  platform_admin boolean not null default false,
  auth_epoch integer not null default 1,   -- raised by logout, disable, password change: older tokens are dead
  last_login_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index users_email on svc.users (email);

create table svc.partner_memberships (
  partner_id uuid not null references svc.partners (id),
  org_id uuid generated always as (null::uuid) stored,
  user_id uuid not null references svc.users (id),
  role_id uuid not null,
  org_access text not null check (org_access in ('all', 'selected', 'none')),
  org_ids uuid[] not null default '{}',
  created_at timestamptz not null default now(),
  primary key (user_id, partner_id),
  foreign key (partner_id, role_id) references svc.roles (partner_id, id)
);
call svc.tenant_table('svc.partner_memberships');
grant select on svc.partner_memberships to svc_app;
grant select, insert, update, delete on svc.partner_memberships to svc_worker;

create table svc.organization_memberships (
  partner_id uuid not null,
  org_id uuid not null,
  user_id uuid not null references svc.users (id),
  role_id uuid not null,
  site_ids uuid[],
  device_group_ids uuid[],
  created_at timestamptz not null default now(),
  primary key (user_id, org_id),
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id),
  foreign key (partner_id, role_id) references svc.roles (partner_id, id)
);
call svc.tenant_table('svc.organization_memberships');
grant select on svc.organization_memberships to svc_app;
grant select, insert, update, delete on svc.organization_memberships to svc_worker;

alter table svc.users enable row level security;
alter table svc.users force row level security;
create policy member on svc.users
  using ((select svc.scope_system())
    or exists (select from svc.partner_memberships m where m.user_id = users.id)
    or exists (select from svc.organization_memberships m where m.user_id = users.id));
-- Columns, not the table: an API query cannot even name a password hash or a sealed secret.
grant select (id, email, name, status, avatar_url, password_changed_at, phone_number, phone_verified, mfa_method, last_login_at,
  created_at, updated_at) on svc.users to svc_app;
grant select, insert, update on svc.users to svc_worker;

-- A refresh family is one login; its tokens rotate (interface §Authentication 5, decisions "Numbers").
create table svc.refresh_families (
  id uuid primary key,
  user_id uuid not null references svc.users (id),
  partner_id uuid,                         -- the membership that the login is for; null: a platform administrator's
  org_id uuid,                             -- null: of the partner itself
  mfa boolean not null,                    -- a second factor was checked in this login: copied by rotation, never recomputed
  mfa_at timestamptz,                      -- when one was last checked: a fresh one is younger than ten minutes
  auth_epoch integer not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,         -- absolute
  revoked_at timestamptz,
  revoked_reason text
);
create index refresh_families_user on svc.refresh_families (user_id) where revoked_at is null;

create table svc.refresh_tokens (
  token_hash bytea primary key,
  family_id uuid not null references svc.refresh_families (id) on delete cascade,
  created_at timestamptz not null default now(),
  idle_expires_at timestamptz not null,
  used_at timestamptz,
  -- A repeat of the same refresh after a lost answer gets that answer again, for 30 s: sealed under its Idempotency-Key.
  retry_key_hash bytea,
  retry_answer bytea
);
create index refresh_tokens_family on svc.refresh_tokens (family_id);

-- Between password and second factor.
create table svc.mfa_challenges (
  token_hash bytea primary key,
  user_id uuid not null references svc.users (id),
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

-- A TOTP set-up that is not confirmed yet.
create table svc.mfa_setups (
  user_id uuid primary key references svc.users (id),
  secret bytea not null,                   -- sealed
  recovery_codes bytea not null,           -- sealed: the confirmation shows them again
  recovery_code_hashes bytea[] not null,
  expires_at timestamptz not null
);

-- Counters of the limits that must hold with Redis gone (decisions 42). A window begins with its first hit.
create table svc.rate_limits (
  bucket text not null,
  subject bytea not null,                  -- SHA-256: no address or e-mail is kept
  hits integer not null,
  resets_at timestamptz not null,
  primary key (bucket, subject)
);
create index rate_limits_over on svc.rate_limits (resets_at);
grant select, insert, update, delete on svc.rate_limits to svc_app, svc_worker;

-- These four hold no tenant column: they are one user's own and are reached before a scope exists. Only the functions of the
-- migration "auth_functions" touch them for the API.
grant select, delete on svc.refresh_families, svc.refresh_tokens, svc.mfa_challenges, svc.mfa_setups to svc_worker;
