set local role svc_owner;

-- Whoever registers a partner types an address, and is its administrator before the address is proved. Somebody else, who means the
-- owner of that address, may invite the account: its membership counts for nobody until mail to the address has been used, or the
-- stranger would have it with the password that they chose. What an account founded counts all the same.
alter table svc.partner_memberships add column founder boolean not null default false;
set local "app.scope" = '"system"';
-- Partner and membership were made at one moment of the same clock, and are by nothing else.
update svc.partner_memberships m set founder = true from svc.partners p where p.id = m.partner_id and p.created_at = m.created_at;

-- The version before registers partners without saying who founds them. Goes a release later.
create function svc.note_founder() returns trigger
  language plpgsql
  set search_path = svc, pg_temp
as $$
begin
  new.founder := new.founder
    or exists (select from partners p where p.id = new.partner_id and p.created_at = new.created_at);
  return new;
end $$;
create trigger note_founder before insert on svc.partner_memberships for each row execute function svc.note_founder();

-- Has mail to the account's address been used? For the functions below alone. Who waits for an invitation's link has no password.
create function svc.is_proved(account uuid) returns boolean
  language sql stable
as $$
  select exists (select from svc.users u where u.id = account and (u.email_verified_at is not null or u.status <> 'active'))
$$;

-- The usable tenants that a user belongs to, of an account whose address is `proved` or is about to be; a login is for the first. Those of
-- the partner whom the user has belonged to longest come first, so that nobody draws a user's logins to a tenant of their own by inviting
-- them there. Within a partner its own level is before its organizations, then the oldest.
create function svc.homes_of(account uuid, proved boolean) returns table (partner_id uuid, org_id uuid, place bigint)
  language sql stable
as $$
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
$$;
create or replace function svc.homes_of(account uuid) returns table (partner_id uuid, org_id uuid, place bigint)
  language sql stable
as $$
  select h.partner_id, h.org_id, h.place from svc.homes_of(account, svc.is_proved(account)) h
$$;

-- Whoever holds such a token proves the address with it.
create or replace function svc.read_user_token(for_purpose text, token bytea, at timestamptz)
  returns table (id uuid, email text, name text, avatar_url text, status text, mfa_method text, auth_epoch integer,
    platform_admin boolean, partner_id uuid, org_id uuid)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.id, u.email, u.name, u.avatar_url, u.status, u.mfa_method, u.auth_epoch, u.platform_admin, h.partner_id, h.org_id
  from user_tokens t join users u on u.id = t.user_id left join lateral svc.homes_of(u.id, true) h on h.place = 1
  where t.token_hash = token and t.purpose = for_purpose and t.expires_at > at
$$;

-- As before, with what counts alone.
create or replace function svc.load_caller(p_user uuid) returns jsonb
language sql stable security definer set search_path = svc, pg_temp set "app.scope" = '"system"'
begin atomic
  with recursive memberships as (
    select 'partner' as kind, m.partner_id, m.partner_id as id, m.role_id, m.org_access, m.org_ids,
      null::uuid[] as site_ids, null::uuid[] as device_group_ids, m.created_at
    from svc.partner_memberships m join svc.partners p on p.id = m.partner_id
    where m.user_id = p_user and p.status in ('pending', 'active') and (m.founder or svc.is_proved(p_user))
    union all
    select 'organization', m.partner_id, m.org_id, m.role_id, null, null, m.site_ids, m.device_group_ids, m.created_at
    from svc.organization_memberships m
    join svc.partners p on p.id = m.partner_id
    join svc.organizations o on o.partner_id = m.partner_id and o.id = m.org_id
    where m.user_id = p_user and p.status in ('pending', 'active') and svc.is_proved(p_user)
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

-- As before; `proved`: mail to the address has been used.
drop function svc.invite_account(uuid, text, text, timestamptz);
create function svc.invite_account(fresh_id uuid, mail text, display text, at timestamptz)
  returns table (id uuid, name text, status text, fresh boolean, proved boolean)
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
  return query select u.id, u.name, u.status, u.id = fresh_id, u.email_verified_at is not null from users u where u.email = mail;
end $$;
grant execute on function svc.invite_account to svc_app;
