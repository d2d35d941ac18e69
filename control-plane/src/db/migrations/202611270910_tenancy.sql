set local role svc_owner;

create table svc.partners (
  id uuid primary key,
  name text not null check (length(name) between 1 and 255),
  slug text not null unique check (slug ~ '^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$'),
  status text not null default 'active' check (status in ('pending', 'active', 'suspended', 'offboarding', 'churned')),
  timezone text not null default 'UTC',
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- A partner is its own tenant, so the row carries a partner_id too. All of its people may read it, also those of one organization;
-- it is changed from the partner's own level.
alter table svc.partners add column partner_id uuid not null generated always as (id) stored, add column org_id uuid;
alter table svc.partners enable row level security;
alter table svc.partners force row level security;
create policy own on svc.partners for select
  using ((select svc.scope_system()) or id = (select svc.scope_partner()));
create policy tenant on svc.partners
  using ((select svc.scope_system())
    or (id = (select svc.scope_partner()) and ((select svc.scope_all_orgs()) or (select svc.scope_partner_level()))));
grant select, update on svc.partners to svc_app;
grant select, insert, update on svc.partners to svc_worker;

create table svc.organizations (
  id uuid primary key,
  partner_id uuid not null references svc.partners (id),
  org_id uuid not null generated always as (id) stored,
  name text not null check (length(name) between 1 and 255),
  slug text not null check (slug ~ '^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$'),
  type text not null default 'customer' check (type in ('customer', 'internal')),
  status text not null default 'active' check (status in ('active', 'suspended', 'trial', 'churned', 'offboarding')),
  max_devices integer check (max_devices >= 0),
  settings jsonb not null default '{}',
  billing_contact jsonb,
  contract_start date,
  contract_end date,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (partner_id, id)
);
create unique index organizations_slug on svc.organizations (partner_id, slug) where deleted_at is null;
create index organizations_newest on svc.organizations (partner_id, created_at desc, id desc) where deleted_at is null;
call svc.tenant_table('svc.organizations');
grant select, insert, update on svc.organizations to svc_app, svc_worker;

create table svc.sites (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null check (length(name) between 1 and 255),
  timezone text not null default 'UTC',
  address jsonb,
  contact jsonb,
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (partner_id, org_id, id),
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id)
);
create unique index sites_name on svc.sites (partner_id, org_id, lower(name));
create index sites_newest on svc.sites (partner_id, created_at desc, id desc);
call svc.tenant_table('svc.sites');
grant select, insert, update, delete on svc.sites to svc_app, svc_worker;
