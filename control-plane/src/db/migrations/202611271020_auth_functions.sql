set local role svc_owner;

-- What login, second factor and refresh need before there is a scope, or of tables that the API may not read. Each function
-- does one step and returns facts; whether they mean yes is decided by control-plane/src/areas/access/auth. Times come from
-- the caller's clock.

-- The usable tenants that a user belongs to. The first is the one that a login is for. For the functions below alone.
create function svc.homes_of(account uuid) returns table (partner_id uuid, org_id uuid, place bigint)
  language sql stable
as $$
  select h.partner_id, h.org_id, row_number() over (order by h.rank, h.created_at, h.partner_id, h.org_id) from (
    select m.partner_id, null::uuid as org_id, 0 as rank, m.created_at
    from svc.partner_memberships m join svc.partners p on p.id = m.partner_id
    where m.user_id = account and p.status in ('pending', 'active')
    union all
    select m.partner_id, m.org_id, 1, m.created_at
    from svc.organization_memberships m
      join svc.organizations o on o.id = m.org_id and o.deleted_at is null and o.status in ('active', 'trial')
      join svc.partners p on p.id = m.partner_id and p.status in ('pending', 'active')
    where m.user_id = account) h
$$;

-- At most one row. `associated`: is a member of something, be it suspended; `partner_id`: of a usable tenant.
create function svc.login_account(mail text)
  returns table (id uuid, email text, name text, avatar_url text, status text, password_hash text, mfa_method text,
    auth_epoch integer, platform_admin boolean, associated boolean, partner_id uuid, org_id uuid)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.id, u.email, u.name, u.avatar_url, u.status, u.password_hash, u.mfa_method, u.auth_epoch, u.platform_admin,
    exists (select from partner_memberships m where m.user_id = u.id)
      or exists (select from organization_memberships m where m.user_id = u.id),
    h.partner_id, h.org_id
  from users u left join lateral svc.homes_of(u.id) h on h.place = 1
  where u.email = mail
$$;

-- The password, just checked, hashed under today's parameters. Changes nothing when it was changed meanwhile.
create function svc.upgrade_password_hash(account uuid, checked text, better text) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update users u set password_hash = better where u.id = account and u.password_hash = checked
$$;

-- A login is complete: its refresh family and first token. Takes the user's row lock, so that it comes wholly before or after a
-- logout. Returns nothing when the user was disabled, or `epoch` was raised, since the password was checked.
create function svc.open_session(account uuid, epoch integer, partner uuid, org uuid, family uuid, token bytea,
    second_factor boolean, at timestamptz, idle_until timestamptz, until timestamptz)
  returns table (auth_epoch integer)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
begin
  update users u set last_login_at = at
    where u.id = account and u.status = 'active' and u.auth_epoch = epoch;
  if not found then return; end if;
  insert into refresh_families (id, user_id, partner_id, org_id, mfa, mfa_at, auth_epoch, created_at, expires_at)
    values (family, account, partner, org, second_factor, case when second_factor then at end, epoch, at, until);
  insert into refresh_tokens (token_hash, family_id, created_at, idle_expires_at) values (token, family, at, idle_until);
  return query select epoch;
end $$;

create function svc.open_mfa_challenge(account uuid, token bytea, at timestamptz, until timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  insert into mfa_challenges (token_hash, user_id, created_at, expires_at) values (token, account, at, until)
$$;

-- Counts an attempt and returns what it is to be checked against; nothing when the challenge is unknown, over, or used up.
create function svc.try_mfa_challenge(token bytea, at timestamptz, most integer)
  returns table (id uuid, email text, name text, avatar_url text, status text, mfa_method text, totp_secret bytea,
    auth_epoch integer, platform_admin boolean, partner_id uuid, org_id uuid)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
declare account uuid;
begin
  update mfa_challenges c set attempts = c.attempts + 1
    where c.token_hash = token and c.expires_at > at and c.attempts < most
    returning c.user_id into account;
  if account is null then return; end if;
  return query
    select u.id, u.email, u.name, u.avatar_url, u.status, u.mfa_method, u.totp_secret, u.auth_epoch, u.platform_admin,
      h.partner_id, h.org_id
    from users u left join lateral svc.homes_of(u.id) h on h.place = 1
    where u.id = account;
end $$;

-- True once: a challenge opens one session.
create function svc.close_mfa_challenge(token bytea) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with gone as (delete from mfa_challenges c where c.token_hash = token returning 1)
  select exists (select from gone)
$$;

-- RFC 6238 §5.2: a time step is accepted once. Parallel uses wait on the row; exactly one of them is true.
create function svc.use_totp_step(account uuid, step bigint) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with used as (
    update users u set totp_last_step = step
    where u.id = account and (u.totp_last_step is null or u.totp_last_step < step)
    returning 1)
  select exists (select from used)
$$;

create function svc.use_recovery_code(account uuid, code bytea) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with used as (
    update users u set recovery_code_hashes = array_remove(u.recovery_code_hashes, code)
    where u.id = account and code = any (u.recovery_code_hashes)
    returning 1)
  select exists (select from used)
$$;

create function svc.second_factor_of(account uuid)
  returns table (mfa_method text, totp_secret bytea)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.mfa_method, u.totp_secret from users u where u.id = account
$$;

-- The caller's own account, whatever tenant the login is for.
create function svc.own_account(account uuid)
  returns table (id uuid, email text, name text, avatar_url text, status text, mfa_enabled boolean, mfa_method text,
    phone_verified boolean, phone_last4 text, last_login_at timestamptz, password_changed_at timestamptz,
    created_at timestamptz, updated_at timestamptz)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.id, u.email, u.name, u.avatar_url, u.status, u.mfa_method is not null, u.mfa_method, u.phone_verified,
    right(u.phone_number, 4), u.last_login_at, u.password_changed_at, u.created_at, u.updated_at
  from users u where u.id = account
$$;

-- A second factor was checked again in this login.
create function svc.renew_second_factor(account uuid, family uuid, at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with renewed as (
    update refresh_families f set mfa = true, mfa_at = at
    where f.id = family and f.user_id = account and f.revoked_at is null
    returning 1)
  select exists (select from renewed)
$$;

-- A set-up that is begun again replaces the one before it.
create function svc.begin_mfa_setup(account uuid, sealed_secret bytea, sealed_codes bytea, code_hashes bytea[],
    until timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  insert into mfa_setups (user_id, secret, recovery_codes, recovery_code_hashes, expires_at)
    values (account, sealed_secret, sealed_codes, code_hashes, until)
  on conflict (user_id) do update set secret = excluded.secret, recovery_codes = excluded.recovery_codes,
    recovery_code_hashes = excluded.recovery_code_hashes, expires_at = excluded.expires_at
$$;

create function svc.pending_mfa_setup(account uuid, at timestamptz) returns table (secret bytea, recovery_codes bytea)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select s.secret, s.recovery_codes from mfa_setups s where s.user_id = account and s.expires_at > at
$$;

-- The pending secret, which the caller has checked a code of, becomes the user's. False when another set-up took its place
-- meanwhile, or this one was confirmed already.
create function svc.confirm_mfa_setup(account uuid, checked_secret bytea, step bigint, at timestamptz) returns boolean
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
declare hashes bytea[];
begin
  delete from mfa_setups s where s.user_id = account and s.secret = checked_secret and s.expires_at > at
    returning s.recovery_code_hashes into hashes;
  if hashes is null then return false; end if;
  update users u set mfa_method = 'totp', totp_secret = checked_secret, totp_last_step = step,
    recovery_code_hashes = hashes, updated_at = at where u.id = account;
  return true;
end $$;

-- What became of a refresh token that was presented. Locks its family, so parallel refreshes come one after the other:
--   rotate   it was current and is used up now; `store_successor` must follow in the same transaction
--   retried  used up less than `retry_for` ago by a request with the same Idempotency-Key: `retry_answer` is that answer
--   raced    used up less than `race_for` ago
--   reused   used up before that: the family is revoked now
--   dead     unknown, expired, revoked, its user disabled, logged out or of no usable tenant
create function svc.use_refresh_token(token bytea, retry_key bytea, at timestamptz, race_for interval, retry_for interval)
  returns table (outcome text, family_id uuid, user_id uuid, email text, auth_epoch integer, mfa boolean,
    mfa_at timestamptz, until timestamptz, retry_answer bytea, partner_id uuid, org_id uuid)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
declare
  family refresh_families;
  presented refresh_tokens;
  account users;
  verdict text;
  belongs boolean;
begin
  select f.* into family from refresh_families f
    where f.id = (select t.family_id from refresh_tokens t where t.token_hash = token) for update;
  if not found then
    return query select 'dead', null::uuid, null::uuid, null::text, null::integer, null::boolean, null::timestamptz,
      null::timestamptz, null::bytea, null::uuid, null::uuid;
    return;
  end if;
  -- Read after the lock: what a parallel refresh did while this one waited is seen.
  select t.* into presented from refresh_tokens t where t.token_hash = token;
  select u.* into account from users u where u.id = family.user_id;
  verdict := case
    when family.revoked_at is not null or family.expires_at <= at or presented.idle_expires_at <= at
      or account.status <> 'active' or account.auth_epoch <> family.auth_epoch then 'dead'
    when presented.used_at is null then 'rotate'
    when presented.used_at + retry_for > at and presented.retry_key_hash = retry_key then 'retried'
    when presented.used_at + race_for > at then 'raced'
    else 'reused' end;
  -- The membership that the login is for must still be there.
  belongs := (family.partner_id is null and account.platform_admin) or exists (select from svc.homes_of(account.id) h
    where h.partner_id = family.partner_id and h.org_id is not distinct from family.org_id);
  if verdict in ('rotate', 'retried') and not belongs then verdict := 'dead'; end if;
  if verdict = 'rotate' then
    update refresh_tokens t set used_at = at where t.token_hash = token;
  elsif verdict = 'reused' then
    update refresh_families f set revoked_at = at, revoked_reason = 'reuse' where f.id = family.id;
  end if;
  return query
    select verdict, family.id, family.user_id, account.email, family.auth_epoch, family.mfa, family.mfa_at,
      family.expires_at, presented.retry_answer, family.partner_id, family.org_id;
end $$;

create function svc.store_successor(family uuid, used bytea, token bytea, at timestamptz, idle_until timestamptz,
    retry_key bytea, answer bytea) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  insert into refresh_tokens (token_hash, family_id, created_at, idle_expires_at) values (token, family, at, idle_until);
  -- Answers to older rotations of this family are of no use to anybody any more.
  update refresh_tokens t set retry_key_hash = null, retry_answer = null
    where t.family_id = family and t.retry_answer is not null;
  update refresh_tokens t set retry_key_hash = retry_key, retry_answer = answer where t.token_hash = used;
$$;

-- All tokens of the user die (interface §Authentication 6): access tokens by the epoch, refresh tokens by their families.
create function svc.end_sessions(account uuid, reason text, at timestamptz) returns integer
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
declare epoch integer;
begin
  update users u set auth_epoch = u.auth_epoch + 1 where u.id = account returning u.auth_epoch into epoch;
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.user_id = account and f.revoked_at is null;
  delete from mfa_challenges c where c.user_id = account;
  delete from mfa_setups s where s.user_id = account;
  return epoch;
end $$;

grant execute on function svc.login_account, svc.upgrade_password_hash, svc.open_session, svc.open_mfa_challenge,
  svc.try_mfa_challenge, svc.close_mfa_challenge, svc.use_totp_step, svc.use_recovery_code, svc.second_factor_of, svc.own_account, svc.renew_second_factor,
  svc.begin_mfa_setup, svc.pending_mfa_setup, svc.confirm_mfa_setup, svc.use_refresh_token, svc.store_successor,
  svc.end_sessions to svc_app;
