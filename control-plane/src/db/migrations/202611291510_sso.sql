set local role svc_owner;

-- Identity providers of organizations (OpenID Connect). What one says is worth something in its own organization and nowhere else.
create table svc.sso_providers (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null check (length(name) between 1 and 255),
  type text not null default 'oidc' check (type in ('oidc')),
  status text not null default 'inactive' check (status in ('active', 'inactive', 'testing')),
  issuer text not null check (length(issuer) between 1 and 2048),
  client_id text not null check (length(client_id) between 1 and 255),
  client_secret bytea not null,            -- sealed
  scopes text not null,
  attribute_mapping jsonb not null,
  metadata jsonb,                          -- what discovery found, as it was checked; null: nothing yet
  discovered_at timestamptz,
  auto_provision boolean not null default false,
  default_role_id uuid,
  allowed_domains text[] check (cardinality(allowed_domains) > 0),
  enforce_sso boolean not null default false,
  trusts_idp_mfa boolean not null default false,
  config_version integer not null default 1, -- raised by what voids a login that is under way
  created_by uuid references svc.users (id),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (partner_id, org_id, id),
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id),
  -- A role that is deleted is nobody's default any more: `default_role_required` says so.
  foreign key (partner_id, default_role_id) references svc.roles (partner_id, id) on delete set null (default_role_id)
);
create index sso_providers_newest on svc.sso_providers (partner_id, created_at desc, id desc);
create index sso_providers_role on svc.sso_providers (partner_id, default_role_id) where default_role_id is not null;
create index sso_providers_org on svc.sso_providers (org_id);
-- `GET /sso/login/:orgId` names no provider.
create unique index sso_providers_active on svc.sso_providers (org_id) where status = 'active';
call svc.tenant_table('svc.sso_providers');
-- Everything but the sealed secret.
grant select (id, partner_id, org_id, name, type, status, issuer, client_id, scopes, attribute_mapping, metadata, discovered_at,
  auto_provision, default_role_id, allowed_domains, enforce_sso, trusts_idp_mfa, config_version, created_by, created_at, updated_at)
  on svc.sso_providers to svc_app;
grant insert, update, delete on svc.sso_providers to svc_app;
grant select, insert, update, delete on svc.sso_providers to svc_worker;

-- Who somebody is at a provider: its `sub`, never an e-mail address.
create table svc.sso_identities (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  provider_id uuid not null,
  subject text not null check (length(subject) between 1 and 255),
  user_id uuid not null references svc.users (id),
  email text not null,                     -- as it said last
  created_at timestamptz not null,
  last_login_at timestamptz not null,
  unique (provider_id, subject),
  unique (provider_id, user_id),
  foreign key (partner_id, org_id, provider_id) references svc.sso_providers (partner_id, org_id, id) on delete cascade
);
create index sso_identities_user on svc.sso_identities (user_id);
call svc.tenant_table('svc.sso_identities');
grant select, insert, update, delete on svc.sso_identities to svc_app, svc_worker;

-- A login that a browser went away with. No foreign key: one whose provider was deleted meanwhile is told so when it comes back.
create table svc.sso_logins (
  state_hash bytea primary key,
  id uuid not null,
  provider_id uuid not null,
  config_version integer not null,
  browser_hash bytea not null,             -- of the cookie that the browser was given
  sealed bytea not null,                   -- nonce and PKCE verifier
  expires_at timestamptz not null
);
create index sso_logins_provider on svc.sso_logins (provider_id);
create index sso_logins_over on svc.sso_logins (expires_at);

-- What a browser comes back with, to be exchanged for tokens once.
create table svc.sso_codes (
  code_hash bytea primary key,
  user_id uuid not null references svc.users (id) on delete cascade,
  provider_id uuid not null references svc.sso_providers (id) on delete cascade,
  browser_hash bytea not null,
  mfa boolean not null,                    -- the provider checked a second factor, and is trusted for it
  mfa_at timestamptz,                      -- when, where it said so
  expires_at timestamptz not null
);
create index sso_codes_provider on svc.sso_codes (provider_id);
create index sso_codes_user on svc.sso_codes (user_id);
create index sso_codes_over on svc.sso_codes (expires_at);
grant select, delete on svc.sso_logins, svc.sso_codes to svc_worker;

-- The provider that a login came through, and whether that one's second factor is this login's.
alter table svc.refresh_families add column sso_provider_id uuid, add column sso_mfa boolean not null default false;
create index refresh_families_sso on svc.refresh_families (sso_provider_id) where sso_provider_id is not null and revoked_at is null;
alter table svc.mfa_challenges add column sso_provider_id uuid;
