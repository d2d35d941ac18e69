set local role svc_owner;

-- A link gives an account that never had a password its first one, and its second factor goes: whoever had set that up may be a stranger
-- whom a provider vouched for. Where the account belongs already, that factor was what stood before a password: from then on a
-- password opens nothing there, and only the organization's provider does.
alter table svc.organization_memberships add column by_sso_alone boolean not null default false;

create or replace function svc.accept_invitation(token bytea, account uuid, hash text, at timestamp with time zone)
 returns TABLE(invitation_id uuid, user_id uuid, email text, partner_id uuid, org_id uuid)
 language plpgsql
 security definer
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
end $$;

-- As before, with such memberships as with organizations that demand it of everybody.
create or replace function svc.password_home(account uuid)
  returns table (partner_id uuid, org_id uuid, demanded_by uuid)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with homes as (
    select h.partner_id, h.org_id, h.place, h.org_id is not null and (svc.demands_sso(h.org_id) or exists (
      select from svc.organization_memberships m where m.user_id = account and m.org_id = h.org_id and m.by_sso_alone)) as by_sso_alone
    from svc.homes_of(account) h)
  select h.partner_id, h.org_id, case when h.partner_id is null then (
      select d.org_id from homes d where d.by_sso_alone order by d.place limit 1) end
  from (select 1) one left join lateral (
    select f.partner_id, f.org_id from homes f where not f.by_sso_alone order by f.place limit 1) h on true
$$;

-- As before, and not where the account belongs to anything else: what it holds there, its second factor and its logins, is nothing that
-- this organization's provider may take. Such an invitation takes its link, which proves the mailbox. And what somebody proved who had
-- the account before is not proved of whom the provider says it is.
create or replace function svc.accept_sso_invitation(provider uuid, fresh_id uuid, mail text, at timestamptz)
  returns table (user_id uuid, invitation_id uuid, role_id uuid)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
end $$;
