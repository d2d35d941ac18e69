set local role svc_owner;

-- Keys of programs. One acts with the rights of whoever made its present secret, in the membership that it was made under, and with
-- no more than its scopes; `org_id` narrows it to one organization (null: as far as that membership reaches).
create table svc.api_keys (
  id uuid primary key,
  partner_id uuid not null references svc.partners (id),
  org_id uuid,
  member_org uuid,                         -- the organization of that membership; null: it is of the partner
  name text not null check (length(name) between 1 and 255),
  prefix text not null unique,             -- what a key is recognized by: `svc_` and ten characters of it
  key_hash bytea not null unique,
  scopes text[] not null check (cardinality(scopes) > 0),
  rate_limit integer not null check (rate_limit between 1 and 100000),  -- requests per minute
  ip_allowlist text[] check (cardinality(ip_allowlist) > 0),            -- null: from anywhere
  expires_at timestamptz not null,
  revoked_at timestamptz,
  generation integer not null default 1,   -- raised by a rotation: uses of the secret before are not counted any more
  usage_count bigint not null default 0,
  last_used_at timestamptz,
  created_by uuid not null references svc.users (id),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id),
  check (member_org is null or member_org = org_id)
);
create index api_keys_newest on svc.api_keys (partner_id, created_at desc, id desc);
call svc.tenant_table('svc.api_keys');
-- Everything but the hash.
grant select (id, partner_id, org_id, member_org, name, prefix, scopes, rate_limit, ip_allowlist, expires_at, revoked_at, generation,
  usage_count, last_used_at, created_by, created_at, updated_at) on svc.api_keys to svc_app;
grant insert, update on svc.api_keys to svc_app;
grant select, insert, update, delete on svc.api_keys to svc_worker;

-- A key that was presented, found by its digest before a scope exists. Null: unknown, revoked, or of a tenant that may not be used.
create function svc.load_api_key(hash bytea) returns jsonb
language sql stable security definer set search_path = svc, pg_temp set "app.scope" = '"system"'
begin atomic
  select jsonb_build_object('id', k.id, 'generation', k.generation, 'partnerId', k.partner_id, 'orgId', k.org_id,
    'memberOrg', k.member_org, 'ownerId', k.created_by, 'scopes', to_jsonb(k.scopes), 'rateLimit', k.rate_limit,
    'ipAllowlist', to_jsonb(k.ip_allowlist), 'expiresAt', k.expires_at)
  from svc.api_keys k
    join svc.partners p on p.id = k.partner_id and p.status in ('pending', 'active')
    left join svc.organizations o on o.partner_id = k.partner_id and o.id = k.org_id
  where k.key_hash = hash and k.revoked_at is null
    and (k.org_id is null or (o.deleted_at is null and o.status in ('active', 'trial')));
end;

-- Uses of many tenants' keys, counted in one process and written down together. In the order of their ids, so that two processes
-- cannot wait for each other.
create function svc.note_api_key_uses(p_uses jsonb) returns void
language sql volatile security definer set search_path = svc, pg_temp set "app.scope" = '"system"'
begin atomic
  with uses as (
    select u.id, u.generation, u.count, u.at
    from jsonb_to_recordset(p_uses) as u (id uuid, generation integer, count bigint, at timestamptz)
  ), held as materialized (
    select k.id from svc.api_keys k where k.id in (select id from uses) order by k.id for no key update
  )
  update svc.api_keys k set usage_count = k.usage_count + u.count,
    last_used_at = greatest(coalesce(k.last_used_at, u.at), u.at)
  from uses u join held on held.id = u.id
  where k.id = u.id and k.generation = u.generation;
end;

grant execute on function svc.load_api_key, svc.note_api_key_uses to svc_app;

-- With whose rights a key acted: the log names the key as actor, and here the user behind it.
alter table svc.audit_log add column on_behalf_of uuid;
create or replace function svc.write_audit(p_row jsonb) returns void
language sql volatile security definer set search_path = svc, pg_temp set "app.scope" = '"system"'
begin atomic
  insert into svc.audit_log (id, at, partner_id, org_id, actor_type, actor_id, actor_email, on_behalf_of, action, resource_type,
    resource_id, resource_name, result, details, ip, user_agent, request_id)
  select r.id, r.at, r.partner_id, r.org_id, r.actor_type, r.actor_id, r.actor_email, r.on_behalf_of, r.action, r.resource_type,
    r.resource_id, r.resource_name, r.result, r.details, r.ip, r.user_agent, r.request_id
  from jsonb_populate_record(null::svc.audit_log, p_row) r;
end;
