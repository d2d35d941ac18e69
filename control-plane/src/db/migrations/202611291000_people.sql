set local role svc_owner;

-- The API changes roles and memberships, within the wall. What becomes of an account itself is below, behind functions.
grant insert, update, delete on svc.roles to svc_app;
grant insert, delete on svc.role_permissions to svc_app;
grant insert, update, delete on svc.partner_memberships, svc.organization_memberships to svc_app;

-- Two roles of one owner are told apart by their names.
create unique index roles_name on svc.roles (partner_id, org_id, lower(name)) nulls not distinct;
-- Role lists are newest first; what stands under a role is asked before it goes.
create index roles_newest on svc.roles (partner_id, created_at desc, id desc);
create index roles_parent on svc.roles (partner_id, parent_role_id) where parent_role_id is not null;
-- Who has a role, and who belongs to a tenant.
create index partner_memberships_role on svc.partner_memberships (partner_id, role_id);
create index organization_memberships_role on svc.organization_memberships (partner_id, role_id);
create index organization_memberships_org on svc.organization_memberships (partner_id, org_id);

-- A role that demands a second factor demands it of the roles below it too: they hold what it holds.
create or replace function svc.load_caller(p_user uuid) returns jsonb
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
  ), demanded as (
    select c.holder, bool_or(r.force_mfa) as force_mfa from chain c join svc.roles r on r.id = c.role_id group by c.holder
  )
  select jsonb_build_object(
    'email', u.email, 'status', u.status, 'authEpoch', u.auth_epoch, 'platformAdmin', u.platform_admin,
    'hasTotp', u.totp_secret is not null,
    'sessions', coalesce((select jsonb_agg(jsonb_build_object('id', f.id, 'mfaAt', f.mfa_at))
      from svc.refresh_families f where f.user_id = u.id and f.revoked_at is null and f.expires_at > now()), '[]'),
    'memberships', coalesce((select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'kind', m.kind, 'id', m.id, 'partnerId', m.partner_id, 'roleId', m.role_id, 'forceMfa', d.force_mfa,
        'orgAccess', m.org_access, 'orgIds', m.org_ids, 'siteIds', m.site_ids, 'deviceGroupIds', m.device_group_ids,
        'permissions', coalesce(g.permissions, '[]'))) order by m.created_at, m.id)
      from memberships m join demanded d on d.holder = m.role_id left join granted g on g.holder = m.role_id), '[]'))
  from svc.users u where u.id = p_user;
end;

-- An account is nobody's property: a tenant cannot see one that is not its member's, and must find it to invite it. An unknown
-- e-mail becomes an account without a password. One whose address was never proved may be a stranger's who typed it: the password
-- and factors that it has are void, and it waits for the link like a new one. `fresh`: this call made it.
create function svc.invite_account(fresh_id uuid, mail text, display text, at timestamptz)
  returns table (id uuid, name text, status text, fresh boolean)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
  return query select u.id, u.name, u.status, u.id = fresh_id from users u where u.email = mail;
end $$;

-- The caller's own profile. Null name: as it was.
create function svc.change_own_profile(account uuid, new_name text, new_avatar text, with_avatar boolean, at timestamptz)
  returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update users u set name = coalesce(new_name, u.name),
    avatar_url = case when with_avatar then new_avatar else u.avatar_url end, updated_at = at
  where u.id = account
$$;

-- Name or status, by a tenant. False, and nothing changes, when the account is not this tenant's alone: it also belongs to
-- another partner, to an organization that `org` (null: all of the partner) does not include, or administers the platform.
create function svc.change_account(account uuid, partner uuid, org uuid, new_name text, new_status text, at timestamptz)
  returns boolean
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
end $$;

-- The logins for one membership end; those for others of the same account go on. The epoch stays: access tokens name their family.
create function svc.end_membership_sessions(account uuid, partner uuid, org uuid, reason text, at timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update refresh_families f set revoked_at = at, revoked_reason = reason
  where f.user_id = account and f.partner_id = partner and f.org_id is not distinct from org and f.revoked_at is null
$$;

-- Whoever used the link of an invitation may log in from now on. False for an account that was disabled.
create function svc.activate_account(account uuid, at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with activated as (
    update users u set status = 'active', updated_at = at where u.id = account and u.status <> 'disabled' returning 1)
  select exists (select from activated)
$$;

grant execute on function svc.invite_account, svc.activate_account, svc.change_own_profile, svc.change_account, svc.end_membership_sessions to svc_app;
