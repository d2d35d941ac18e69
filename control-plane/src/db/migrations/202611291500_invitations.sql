set local role svc_owner;

-- Whom a tenant has invited. Until the mailed link is accepted that is all there is: no membership, and so no rights, no tenant to log in
-- to, no settings that bind anybody, nothing in the way of those to whom an account belongs. What is kept is what the inviter typed; whether
-- the address has an account is not looked up, so neither the answer nor its time tells. An accepted one is gone, and a membership is there.
create table svc.invitations (
  id uuid primary key,                     -- also of the account that acceptance makes, where the address has none
  partner_id uuid not null references svc.partners (id),
  org_id uuid,
  email text not null check (length(email) <= 255 and email = lower(email)),
  name text not null check (length(name) <= 255),
  status text not null default 'invited' check (status in ('invited', 'disabled')),
  role_id uuid not null,
  org_access text check (org_access in ('all', 'selected', 'none')),
  org_ids uuid[] not null default '{}',
  site_ids uuid[],
  device_group_ids uuid[],
  token_hash bytea,                        -- null: no link is out
  expires_at timestamptz,                  -- of the link; the invitation stays, and can be sent again
  created_at timestamptz not null,
  updated_at timestamptz not null,
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id),
  foreign key (partner_id, role_id) references svc.roles (partner_id, id),
  check ((org_id is null) = (org_access is not null)),
  check ((token_hash is null) = (expires_at is null))
);
call svc.tenant_table('svc.invitations');
-- One of an address to a place.
create unique index invitations_place on svc.invitations (partner_id, org_id, email) nulls not distinct;
create unique index invitations_token on svc.invitations (token_hash);
create index invitations_role on svc.invitations (partner_id, role_id);
create index invitations_newest on svc.invitations (partner_id, created_at desc, id desc);
grant select (id, partner_id, org_id, email, name, status, role_id, org_access, org_ids, site_ids, device_group_ids, expires_at,
  created_at, updated_at) on svc.invitations to svc_app;
grant insert, update, delete on svc.invitations to svc_app;

-- Memberships that wait become invitations: of accounts that have never had a password, and of active ones that did not found the partner
-- and whose address nobody has proved. Of an account that waited for one link, that link is for its first place. What the version before
-- invites while both run is as it was there: such a user can be removed and invited anew.
set local "app.scope" = '"system"';
with waiting as (
  select u.id as user_id, u.email, u.name, case u.status when 'disabled' then 'disabled' else 'invited' end as status
  from svc.users u
  where not u.platform_admin and u.email_verified_at is null and (u.status in ('active', 'invited') or u.password_hash is null)
), places as (
  select m.user_id, m.partner_id, m.org_id, m.role_id, m.org_access, m.org_ids, null::uuid[] as site_ids,
    null::uuid[] as device_group_ids, m.created_at
  from svc.partner_memberships m where not m.founder
  union all
  select m.user_id, m.partner_id, m.org_id, m.role_id, null, '{}', m.site_ids, m.device_group_ids, m.created_at
  from svc.organization_memberships m
), numbered as (
  select w.*, p.partner_id, p.org_id, p.role_id, p.org_access, p.org_ids, p.site_ids, p.device_group_ids, p.created_at,
    row_number() over (partition by w.user_id order by p.created_at, p.partner_id, p.org_id nulls first) as place
  from waiting w join places p on p.user_id = w.user_id
)
insert into svc.invitations (id, partner_id, org_id, email, name, status, role_id, org_access, org_ids, site_ids, device_group_ids,
  token_hash, expires_at, created_at, updated_at)
select gen_random_uuid(), n.partner_id, n.org_id, n.email, n.name, n.status, n.role_id, n.org_access, n.org_ids, n.site_ids,
  n.device_group_ids, t.token_hash, t.expires_at, n.created_at, n.created_at
from numbered n left join svc.user_tokens t on t.user_id = n.user_id and t.purpose = 'invite' and n.place = 1;
delete from svc.user_tokens t where t.purpose = 'invite';
delete from svc.partner_memberships m using svc.users u, svc.invitations i
  where u.id = m.user_id and i.email = u.email and i.partner_id = m.partner_id and i.org_id is null and not m.founder;
delete from svc.organization_memberships m using svc.users u, svc.invitations i
  where u.id = m.user_id and i.email = u.email and i.org_id = m.org_id;
-- Disabled is the invitation now; enabled again, its link must find an account that waits.
update svc.users u set status = 'invited'
  where u.status = 'disabled' and u.password_hash is null and u.email_verified_at is null and not u.platform_admin;

-- Is the account nobody's who could show that it is theirs? It has never had a password; or whoever typed its address has not proved it,
-- and nothing belongs to it. Whoever reads mail to the address may have it, and nothing of what it holds is kept. For the functions below alone.
create function svc.is_unclaimed(account uuid) returns boolean
  language sql stable
as $$
  select exists (select from svc.users u where u.id = account and not u.platform_admin and u.email_verified_at is null
    and (u.status = 'invited' or (u.status = 'active'
      and not exists (select from svc.partner_memberships m where m.user_id = u.id)
      and not exists (select from svc.organization_memberships m where m.user_id = u.id))))
$$;

-- What a live link is an invitation to, and what must be shown to accept it; changes nothing. Nothing comes back for a link that is unknown,
-- used, replaced or over, of a disabled invitation, or to what is suspended or gone. `account`: whose own password or login is needed; null:
-- a password is chosen with the link. `account_status` is null where there is no account.
create function svc.read_invitation(token bytea, at timestamptz)
  returns table (id uuid, email text, name text, partner_id uuid, org_id uuid, tenant_name text, tenants text[], min_length integer,
    account uuid, account_status text)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
$$;

-- Uses the link up: for exactly one of any number of callers its invitation becomes a membership; nothing comes back for all others, and
-- then nothing may be committed. `account`: who has shown that the account is theirs; null: whoever has the link chose the password
-- `hash`, of an account that is made or is nobody's yet. Either way they read mail to the address.
create function svc.accept_invitation(token bytea, account uuid, hash text, at timestamptz)
  returns table (invitation_id uuid, user_id uuid, email text, partner_id uuid, org_id uuid)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
end $$;

-- Who showed link and password, and has a second factor, accepts with that: the link waits with the login.
alter table svc.mfa_challenges add column invite_hash bytea;
create function svc.await_invitation(challenge bytea, invite bytea) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update mfa_challenges c set invite_hash = invite where c.token_hash = challenge
$$;

-- As before, with the link that waits.
drop function svc.try_mfa_challenge(bytea, timestamptz, integer);
create function svc.try_mfa_challenge(token bytea, at timestamptz, most integer)
  returns table (id uuid, email text, name text, avatar_url text, status text, mfa_method text, totp_secret bytea,
    sms_code_hash bytea, auth_epoch integer, platform_admin boolean, partner_id uuid, org_id uuid, invite_hash bytea)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
end $$;

grant execute on function svc.read_invitation, svc.accept_invitation, svc.await_invitation, svc.try_mfa_challenge to svc_app;
