-- Passwords, phones and registration: what the API needs of tables that it may not read, or before there is a scope. As in
-- "auth_functions" each function does one step and returns facts.
set local role svc_owner;

-- A number is the user's once a code that was sent to it comes back. The same row lets the owner of a number that is in force
-- prove it again. Only a keyed digest of the code is kept: six digits could be guessed from a plain one.
create table svc.phone_codes (
  user_id uuid primary key references svc.users (id) on delete cascade,
  phone_number text not null,
  code_hash bytea not null,
  attempts integer not null default 0,
  expires_at timestamptz not null
);
grant select, delete on svc.phone_codes to svc_worker;

-- The code that was sent for one login. It opens that login alone.
alter table svc.mfa_challenges add column sms_code_hash bytea, add column sms_expires_at timestamptz;

create function svc.password_of(account uuid) returns text
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.password_hash from users u where u.id = account
$$;

-- False, and nothing changes, when the password that was checked is not the account's any more.
create function svc.change_password(account uuid, checked text, hash text, at timestamptz) returns boolean
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
begin
  perform from users u where u.id = account and u.password_hash = checked for update;
  if not found then return false; end if;
  perform svc.set_password(account, hash, at);
  return true;
end $$;

-- What the tenants of an account ask of it: of several the strictest counts, be they suspended or not. `tenants`: their names,
-- which are no password.
create function svc.security_of(account uuid)
  returns table (min_length integer, require_mfa boolean, sms_allowed boolean, tenants text[])
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with tenants as (
    select p.name, p.settings -> 'security' as security from partners p
    where p.id in (select m.partner_id from partner_memberships m where m.user_id = account
      union all select m.partner_id from organization_memberships m where m.user_id = account)
    union all
    select o.name, o.settings -> 'security' from organizations o
    where o.id in (select m.org_id from organization_memberships m where m.user_id = account)
  )
  select
    coalesce(max(case when jsonb_typeof(t.security -> 'minLength') = 'number'
      then least((t.security ->> 'minLength')::numeric, 256)::integer end), 0),
    coalesce(bool_or(t.security -> 'requireMfa' = 'true'), false),
    not coalesce(bool_or(coalesce(t.security -> 'allowedMfaMethods', t.security -> 'allowedMethods') -> 'sms' = 'false'), false),
    coalesce(array_agg(t.name), '{}')
  from tenants t
$$;

-- All tokens of the user die: access tokens by the epoch, other logins by their families. The login that asked for it goes on with
-- the refresh token given here, for as long as it would have; `second_factor`: one was checked just now. Nothing comes back when
-- that login has ended.
create function svc.renew_login(account uuid, family uuid, token bytea, second_factor boolean, reason text, at timestamptz,
    idle interval)
  returns table (auth_epoch integer, mfa boolean, idle_until timestamptz)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
declare
  epoch integer;
  kept refresh_families;
begin
  update users u set auth_epoch = u.auth_epoch + 1 where u.id = account and u.status = 'active' returning u.auth_epoch into epoch;
  update refresh_families f set auth_epoch = epoch, mfa = f.mfa or second_factor,
      mfa_at = case when second_factor then at else f.mfa_at end
    where f.id = family and f.user_id = account and f.revoked_at is null and f.expires_at > at returning f.* into kept;
  if epoch is null or kept.id is null then return; end if;
  update refresh_families f set revoked_at = at, revoked_reason = reason
    where f.user_id = account and f.id <> family and f.revoked_at is null;
  -- Over, rather than gone: a refresh that waits for the family's lock at this moment must find that its token is dead.
  update refresh_tokens t set idle_expires_at = '-infinity' where t.family_id = family;
  delete from mfa_challenges c where c.user_id = account;
  delete from mfa_setups s where s.user_id = account;
  delete from phone_codes c where c.user_id = account;
  insert into refresh_tokens (token_hash, family_id, created_at, idle_expires_at)
    values (token, family, at, least(at + idle, kept.expires_at));
  return query select epoch, kept.mfa, least(at + idle, kept.expires_at);
end $$;

-- Secret, phone and recovery codes go with it.
create function svc.disable_second_factor(account uuid, at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with disabled as (
    update users u set mfa_method = null, totp_secret = null, totp_last_step = null, phone_number = null,
      phone_verified = false, recovery_code_hashes = '{}', updated_at = at
    where u.id = account and u.mfa_method is not null returning 1)
  select exists (select from disabled)
$$;

create function svc.replace_recovery_codes(account uuid, hashes bytea[], at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with replaced as (
    update users u set recovery_code_hashes = hashes, updated_at = at
    where u.id = account and u.mfa_method is not null returning 1)
  select exists (select from replaced)
$$;

create function svc.begin_phone_check(account uuid, phone text, hash bytea, until timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  insert into phone_codes (user_id, phone_number, code_hash, expires_at) values (account, phone, hash, until)
  on conflict (user_id) do update set phone_number = excluded.phone_number, code_hash = excluded.code_hash, attempts = 0,
    expires_at = excluded.expires_at
$$;

-- Counts an attempt. Nothing comes back when no code is out, it is over, or has had `most` attempts.
create function svc.try_phone_code(account uuid, at timestamptz, most integer)
  returns table (phone_number text, code_hash bytea)
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update phone_codes c set attempts = c.attempts + 1
    where c.user_id = account and c.expires_at > at and c.attempts < most
    returning c.phone_number, c.code_hash
$$;

-- True for exactly one of any number of uses.
create function svc.use_phone_code(account uuid, hash bytea) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with used as (delete from phone_codes c where c.user_id = account and c.code_hash = hash returning 1)
  select exists (select from used)
$$;

create function svc.set_phone(account uuid, phone text, at timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update users u set phone_number = phone, phone_verified = true, updated_at = at where u.id = account
$$;

-- False when the number is not verified or another factor is in force.
create function svc.enable_sms_factor(account uuid, hashes bytea[], at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with enabled as (
    update users u set mfa_method = 'sms', recovery_code_hashes = hashes, updated_at = at
    where u.id = account and u.mfa_method is null and u.phone_verified and u.phone_number is not null returning 1)
  select exists (select from enabled)
$$;

-- The factors of an account, of which the API sees what it needs to check one.
drop function svc.second_factor_of(uuid);
create function svc.second_factor_of(account uuid)
  returns table (mfa_method text, totp_secret bytea, phone_number text, phone_verified boolean)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.mfa_method, u.totp_secret, u.phone_number, u.phone_verified from users u where u.id = account
$$;

-- Of a login that waits for its second factor; counts nothing.
create function svc.sms_challenge(token bytea, at timestamptz)
  returns table (id uuid, email text, mfa_method text, phone_number text, partner_id uuid, org_id uuid)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.id, u.email, u.mfa_method, case when u.phone_verified then u.phone_number end, h.partner_id, h.org_id
  from mfa_challenges c join users u on u.id = c.user_id left join lateral svc.homes_of(u.id) h on h.place = 1
  where c.token_hash = token and c.expires_at > at and u.status = 'active'
$$;

-- The code before it is void.
create function svc.set_challenge_code(token bytea, hash bytea, at timestamptz, until timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with set_code as (
    update mfa_challenges c set sms_code_hash = hash, sms_expires_at = until
    where c.token_hash = token and c.expires_at > at returning 1)
  select exists (select from set_code)
$$;

-- As before, and the code that was sent for this login, while it lives.
drop function svc.try_mfa_challenge(bytea, timestamptz, integer);
create function svc.try_mfa_challenge(token bytea, at timestamptz, most integer)
  returns table (id uuid, email text, name text, avatar_url text, status text, mfa_method text, totp_secret bytea,
    sms_code_hash bytea, auth_epoch integer, platform_admin boolean, partner_id uuid, org_id uuid)
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
      case when tried.sms_expires_at > at then tried.sms_code_hash end, u.auth_epoch, u.platform_admin, h.partner_id, h.org_id
    from users u left join lateral svc.homes_of(u.id) h on h.place = 1
    where u.id = tried.user_id;
end $$;

-- An account of nobody's tenant, and an address that nobody has proved. False: somebody has it already.
create function svc.register_account(account uuid, mail text, display text, hash text, at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with made as (
    insert into users (id, email, name, status, password_hash, password_changed_at, created_at, updated_at)
    values (account, mail, display, 'active', hash, at, at, at)
    on conflict (email) do nothing returning 1)
  select exists (select from made)
$$;

-- False: another partner has this slug.
create function svc.register_partner(partner uuid, display text, name_in_addresses text, at timestamptz) returns boolean
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with made as (
    insert into partners (id, name, slug, created_at, updated_at) values (partner, display, name_in_addresses, at, at)
    on conflict (slug) do nothing returning 1)
  select exists (select from made)
$$;

grant execute on function svc.password_of, svc.change_password, svc.security_of, svc.renew_login, svc.disable_second_factor,
  svc.replace_recovery_codes, svc.begin_phone_check, svc.try_phone_code, svc.use_phone_code, svc.set_phone,
  svc.enable_sms_factor, svc.second_factor_of, svc.sms_challenge, svc.set_challenge_code, svc.try_mfa_challenge,
  svc.register_account, svc.register_partner to svc_app;
-- A forgotten password is looked into by a job, so that no answer takes longer for an account that exists.
grant execute on function svc.issue_user_token to svc_worker;
