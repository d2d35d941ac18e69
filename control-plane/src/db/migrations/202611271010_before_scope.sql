-- What is asked before there is a scope. Each such function says: security definer, a fixed search_path, `app.scope` of its own,
-- and who may call it. The list of them is closed: control-plane/test/contract/definers.db.test.ts.
set local role svc_owner;

-- A user's standing: who they are, which logins of theirs live, what each membership lets them do. Null: no such user.
create function svc.load_caller(p_user uuid) returns jsonb
language sql stable security definer set search_path = svc, pg_temp set "app.scope" = '"system"'
begin atomic
  with recursive memberships as (
    select 'partner' as kind, m.partner_id, m.partner_id as id, m.role_id, m.org_access, m.org_ids,
      null::uuid[] as site_ids, null::uuid[] as device_group_ids, m.created_at
    from svc.partner_memberships m join svc.partners p on p.id = m.partner_id
    where m.user_id = p_user and p.status in ('pending', 'active')
    union all
    select 'organization', m.partner_id, m.org_id, m.role_id, null, null, m.site_ids, m.device_group_ids, m.created_at
    from svc.organization_memberships m
    join svc.partners p on p.id = m.partner_id
    join svc.organizations o on o.partner_id = m.partner_id and o.id = m.org_id
    where m.user_id = p_user and p.status in ('pending', 'active')
      and o.deleted_at is null and o.status in ('active', 'trial')
  ), chain as (
    select distinct m.role_id as holder, m.role_id from memberships m
    union
    select c.holder, r.parent_role_id from chain c join svc.roles r on r.id = c.role_id where r.parent_role_id is not null
  ), granted as (
    select c.holder, jsonb_agg(distinct p.resource || ':' || p.action) as permissions
    from chain c join svc.role_permissions p on p.role_id = c.role_id group by c.holder
  )
  select jsonb_build_object(
    'email', u.email, 'status', u.status, 'authEpoch', u.auth_epoch, 'platformAdmin', u.platform_admin,
    'hasTotp', u.totp_secret is not null,
    'sessions', coalesce((select jsonb_agg(jsonb_build_object('id', f.id, 'mfaAt', f.mfa_at))
      from svc.refresh_families f where f.user_id = u.id and f.revoked_at is null and f.expires_at > now()), '[]'),
    'memberships', coalesce((select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'kind', m.kind, 'id', m.id, 'partnerId', m.partner_id, 'roleId', m.role_id, 'forceMfa', r.force_mfa,
        'orgAccess', m.org_access, 'orgIds', m.org_ids, 'siteIds', m.site_ids, 'deviceGroupIds', m.device_group_ids,
        'permissions', coalesce(g.permissions, '[]'))) order by m.created_at, m.id)
      from memberships m join svc.roles r on r.id = m.role_id left join granted g on g.holder = m.role_id), '[]'))
  from svc.users u where u.id = p_user;
end;

-- The audit row of a request that has no scope: a failed login, a refused enrollment. Insert-only, like the table.
create function svc.write_audit(p_row jsonb) returns void
language sql volatile security definer set search_path = svc, pg_temp set "app.scope" = '"system"'
begin atomic
  insert into svc.audit_log (id, at, partner_id, org_id, actor_type, actor_id, actor_email, action, resource_type, resource_id,
    resource_name, result, details, ip, user_agent, request_id)
  select r.id, r.at, r.partner_id, r.org_id, r.actor_type, r.actor_id, r.actor_email, r.action, r.resource_type, r.resource_id,
    r.resource_name, r.result, r.details, r.ip, r.user_agent, r.request_id
  from jsonb_populate_record(null::svc.audit_log, p_row) r;
end;

grant execute on function svc.load_caller, svc.write_audit to svc_app;

-- Proof that a master key (KEYS_DIR) is the one that this database was sealed under; one row per key that lives.
create table svc.sealing_keys (
  key_id text primary key,
  proof bytea not null,
  created_at timestamptz not null default now()
);
grant select, insert on svc.sealing_keys to svc_worker;
