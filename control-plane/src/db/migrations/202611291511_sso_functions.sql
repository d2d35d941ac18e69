-- What single sign-on needs before there is a scope. As in "auth_functions" each function does one step and returns facts.
set local role svc_owner;

-- As before; and an account that an organization's provider vouches for. It has no password that a stranger chose (see
-- `sso_account`), and a login through the provider reaches that organization alone, so it may count for the account.
create or replace function svc.is_proved(account uuid) returns boolean
  language sql stable
as $$
  select exists (select from svc.users u where u.id = account and (u.email_verified_at is not null or u.status <> 'active'))
    or exists (select from svc.sso_identities i where i.user_id = account)
$$;

-- Does this organization demand logins through its provider? For the functions below alone.
create function svc.demands_sso(org uuid) returns boolean
  language sql stable
as $$
  select exists (select from svc.sso_providers p where p.org_id = org and p.status = 'active' and p.enforce_sso)
$$;

-- The provider that serves logins of an organization; nothing for one that has none, is not there or may not be used.
create function svc.sso_provider_of(org uuid)
  returns table (id uuid, partner_id uuid, org_id uuid, name text, type text, issuer text, client_id text, client_secret bytea,
    scopes text, metadata jsonb, discovered_at timestamptz, enforce_sso boolean, config_version integer)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select p.id, p.partner_id, p.org_id, p.name, p.type, p.issuer, p.client_id, p.client_secret, p.scopes, p.metadata,
    p.discovered_at, p.enforce_sso, p.config_version
  from sso_providers p
    join organizations o on o.id = p.org_id and o.deleted_at is null and o.status in ('active', 'trial')
    join partners t on t.id = p.partner_id and t.status in ('pending', 'active')
  where p.org_id = org and p.status = 'active'
$$;

-- What discovery found of a provider whose logins nobody administers at this moment. Changes nothing of a newer configuration.
create function svc.note_sso_metadata(provider uuid, version integer, found jsonb, at timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update sso_providers p set metadata = found, discovered_at = at where p.id = provider and p.config_version = version
$$;

create function svc.begin_sso_login(login uuid, provider uuid, version integer, state bytea, browser bytea, sealed_values bytea,
    until timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  insert into sso_logins (state_hash, id, provider_id, config_version, browser_hash, sealed, expires_at)
    values (state, login, provider, version, browser, sealed_values, until)
$$;

-- A browser came back. Exactly one of any number of callers gets the login, and it is used up; with another browser's cookie it
-- stays for its own. At most one row; `outcome`:
--   taken     the provider's columns are those of its configuration, unchanged since
--   expired, changed, gone   taken, and of no use any more: too old; configured anew; deleted, not active or of no usable tenant
--   foreign   of another browser
create function svc.take_sso_login(state bytea, browser bytea, at timestamptz)
  returns table (outcome text, id uuid, sealed bytea, provider_id uuid, partner_id uuid, org_id uuid, issuer text, client_id text,
    client_secret bytea, scopes text, metadata jsonb, discovered_at timestamptz, attribute_mapping jsonb, auto_provision boolean,
    default_role_id uuid, allowed_domains text[], trusts_idp_mfa boolean, config_version integer)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
end $$;

-- Is an account a member of an organization? The one place where single sign-on reads memberships.
create function svc.is_sso_member(account uuid, org uuid) returns boolean
  language sql stable
as $$
  select exists (select from svc.organization_memberships m where m.user_id = account and m.org_id = org)
$$;

-- Whom a provider means: the account that this subject is linked to, else the one that has the address. Logins of one subject or
-- address come one after the other from here on. `linked`: by this subject; `other_subject`: another one of the provider is linked
-- to the account; `wider`: is more than a member of organizations; `proved`: mail to the address was used.
create function svc.sso_account(provider uuid, subject_said text, mail text)
  returns table (id uuid, email text, name text, avatar_url text, status text, auth_epoch integer, mfa_method text, linked boolean,
    other_subject boolean, member boolean, wider boolean, proved boolean, has_password boolean)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
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
end $$;

-- An account without a password, of nobody yet. Mail to its address was used by nobody. False: somebody has the address.
create function svc.provision_sso_account(account uuid, mail text, display text, at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with made as (
    insert into users (id, email, name, status, created_at, updated_at) values (account, mail, display, 'active', at, at)
    on conflict (email) do nothing returning 1)
  select exists (select from made)
$$;

create function svc.issue_sso_code(code bytea, account uuid, provider uuid, browser bytea, second_factor boolean,
    second_factor_at timestamptz, until timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  insert into sso_codes (code_hash, user_id, provider_id, browser_hash, mfa, mfa_at, expires_at)
    values (code, account, provider, browser, second_factor, second_factor_at, until)
$$;

-- Uses a code up: whose it is, for exactly one of any number of callers, with the cookie of the browser that it was given to.
create function svc.use_sso_code(code bytea, browser bytea, at timestamptz)
  returns table (id uuid, email text, name text, avatar_url text, auth_epoch integer, mfa_method text, partner_id uuid, org_id uuid,
    provider_id uuid, mfa boolean, mfa_at timestamptz)
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with used as (
    delete from sso_codes c where c.code_hash = code and c.browser_hash = browser and c.expires_at > at returning c.*)
  select u.id, u.email, u.name, u.avatar_url, u.auth_epoch, u.mfa_method, p.partner_id, p.org_id, p.id, c.mfa, c.mfa_at
  from used c join users u on u.id = c.user_id and u.status = 'active'
    join sso_providers p on p.id = c.provider_id and p.status = 'active'
    join lateral svc.homes_of(u.id) h on h.org_id = p.org_id
$$;

-- In the transaction that opened the session: it came through a provider.
create function svc.mark_sso_session(family uuid, provider uuid, by_provider boolean, second_factor_at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  -- Held until the commit, so that whoever disables the provider ends this session as well, or it is not opened.
  with held as materialized (select p.id from sso_providers p where p.id = provider and p.status = 'active' for share),
  marked as (
    update refresh_families f set sso_provider_id = held.id, sso_mfa = by_provider,
      mfa_at = case when by_provider then second_factor_at else f.mfa_at end
    from held where f.id = family returning 1)
  select exists (select from marked)
$$;

-- Nothing for a login by password.
create function svc.sso_of_session(family uuid) returns table (provider_id uuid, mfa boolean)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select f.sso_provider_id, f.sso_mfa from refresh_families f where f.id = family and f.sso_provider_id is not null
$$;

create function svc.mark_sso_challenge(token bytea, provider uuid) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update mfa_challenges c set sso_provider_id = provider where c.token_hash = token
$$;

-- What a login by password would be for: the first usable tenant that does not demand single sign-on. Exactly one row;
-- `demanded_by`: the first organization that does, where no other is left.
create function svc.password_home(account uuid) returns table (partner_id uuid, org_id uuid, demanded_by uuid)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select h.partner_id, h.org_id, case when h.partner_id is null then (
      select d.org_id from svc.homes_of(account) d where d.org_id is not null and svc.demands_sso(d.org_id) order by d.place limit 1) end
  from (select 1) one left join lateral (
    select f.partner_id, f.org_id from svc.homes_of(account) f
    where f.org_id is null or not svc.demands_sso(f.org_id) order by f.place limit 1) h on true
$$;

-- What a login that waits for its second factor is for: as `password_home`, or the organization of the provider that it came through,
-- while both stand.
create function svc.challenge_home(token bytea, account uuid)
  returns table (partner_id uuid, org_id uuid, demanded_by uuid, sso_provider_id uuid)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select h.partner_id, h.org_id, null::uuid, c.sso_provider_id
  from mfa_challenges c left join sso_providers p on p.id = c.sso_provider_id and p.status = 'active'
    left join lateral svc.homes_of(account) h on h.org_id = p.org_id
  where c.token_hash = token and c.sso_provider_id is not null
  union all
  select h.partner_id, h.org_id, h.demanded_by, null
  from mfa_challenges c, svc.password_home(account) h where c.token_hash = token and c.sso_provider_id is null
$$;

-- In the transaction that opens a session by password: true, and the organization does not begin to demand single sign-on before it
-- is committed; whoever makes it do so ends this session as well.
create function svc.hold_password_login(org uuid) returns boolean
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
begin
  perform from sso_providers p where p.org_id = org for share;
  return not svc.demands_sso(org);
end $$;

-- Everything that came through a provider ends. How many logins there were comes back.
create function svc.end_sso_sessions(provider uuid, reason text, at timestamptz) returns integer
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
declare ended integer;
begin
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.sso_provider_id = provider and f.revoked_at is null;
  get diagnostics ended = row_count;
  delete from mfa_challenges c where c.sso_provider_id = provider;
  delete from sso_codes c where c.provider_id = provider;
  return ended;
end $$;

-- Logins for an organization that came by password end. How many there were comes back.
create function svc.end_password_sessions(org uuid, reason text, at timestamptz) returns integer
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
declare ended integer;
begin
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.org_id = org and f.sso_provider_id is null and f.revoked_at is null;
  get diagnostics ended = row_count;
  return ended;
end $$;

-- Is there nothing that an account belongs to but this organization, be it suspended or not accepted yet?
create function svc.is_of_organization_alone(account uuid, org uuid) returns boolean
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select not exists (select from partner_memberships m where m.user_id = account)
    and not exists (select from organization_memberships m where m.user_id = account and m.org_id <> org)
    and not exists (select from users u where u.id = account and u.platform_admin)
$$;

-- As before; and an account without a password that an organization's provider vouched for, and whose address nobody else has
-- proved: whoever reads the mailbox may have it, and no factor that was enrolled meanwhile is kept.
create or replace function svc.is_unclaimed(account uuid) returns boolean
  language sql stable
as $$
  select exists (select from svc.users u where u.id = account and not u.platform_admin and u.email_verified_at is null
    and (u.status = 'invited' or (u.status = 'active' and (u.password_hash is null
      or (not exists (select from svc.partner_memberships m where m.user_id = u.id)
        and not exists (select from svc.organization_memberships m where m.user_id = u.id))))))
$$;

-- The organization has invited whoever reads this address: its provider says that somebody does. For an address of nobody, or an account
-- that nobody has claimed, the invitation becomes a membership; what a stranger who typed the address had chosen is void. Nothing comes
-- back, and nothing changes, where there is no invitation, or the account is somebody's: that takes its link and its own login.
create function svc.accept_sso_invitation(provider uuid, fresh_id uuid, mail text, at timestamptz)
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
  if not svc.is_unclaimed(who) then return; end if;
  delete from invitations i where i.id = invited.id;
  update users u set status = 'active', name = invited.name, password_hash = null, mfa_method = null, totp_secret = null,
      totp_last_step = null, recovery_code_hashes = '{}', phone_number = null, phone_verified = false,
      auth_epoch = u.auth_epoch + 1, updated_at = at
    where u.id = who;
  insert into organization_memberships (partner_id, org_id, user_id, role_id, site_ids, device_group_ids)
    values (invited.partner_id, invited.org_id, who, invited.role_id, invited.site_ids, invited.device_group_ids)
    on conflict do nothing;
  return query select who, invited.id, invited.role_id;
end $$;

grant execute on function svc.sso_provider_of, svc.note_sso_metadata, svc.begin_sso_login, svc.take_sso_login, svc.sso_account,
  svc.provision_sso_account, svc.issue_sso_code, svc.use_sso_code, svc.mark_sso_session, svc.sso_of_session, svc.mark_sso_challenge,
  svc.password_home, svc.challenge_home, svc.hold_password_login, svc.end_sso_sessions, svc.end_password_sessions,
  svc.is_of_organization_alone, svc.accept_sso_invitation to svc_app;
-- A forgotten password is looked into by a job.
grant execute on function svc.password_home to svc_worker;
