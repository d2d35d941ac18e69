-- What a mailed link proves: whoever holds the token reads the mailbox of that account. It is good once and for a time, and
-- only its SHA-256 is kept. One live per user and purpose: a newer one takes the place of the one before.
set local role svc_owner;

create table svc.user_tokens (
  user_id uuid not null references svc.users (id) on delete cascade,
  purpose text not null check (purpose in ('invite', 'reset_password')),
  token_hash bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (user_id, purpose)
);
create unique index user_tokens_hash on svc.user_tokens (token_hash);
-- One user's own, and reached before a scope exists: the API has the functions below and nothing else.
grant select, delete on svc.user_tokens to svc_worker;

create function svc.issue_user_token(account uuid, for_purpose text, token bytea, at timestamptz, until timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  insert into user_tokens (user_id, purpose, token_hash, created_at, expires_at)
    values (account, for_purpose, token, at, until)
  on conflict (user_id, purpose) do update set token_hash = excluded.token_hash, created_at = excluded.created_at,
    expires_at = excluded.expires_at
$$;

-- An address is anybody's to type until mail that was sent to it has been used. Null: who registered by themselves and never
-- proved it; they may have a password, and may be somebody else than whom an inviter means.
alter table svc.users add column email_verified_at timestamptz;
-- Until now accounts were made by an operator's command alone.
set local "app.scope" = '"system"';
update svc.users set email_verified_at = created_at where status <> 'invited';
grant select (email_verified_at) on svc.users to svc_app;

-- Whose a live token is; changes nothing. Nothing comes back for one that is unknown, used, replaced or over. `partner_id` and
-- `org_id`: the usable tenant that comes first among theirs.
create function svc.read_user_token(for_purpose text, token bytea, at timestamptz)
  returns table (id uuid, email text, name text, avatar_url text, status text, mfa_method text, auth_epoch integer,
    platform_admin boolean, partner_id uuid, org_id uuid)
  language sql stable security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  select u.id, u.email, u.name, u.avatar_url, u.status, u.mfa_method, u.auth_epoch, u.platform_admin, h.partner_id, h.org_id
  from user_tokens t join users u on u.id = t.user_id left join lateral svc.homes_of(u.id) h on h.place = 1
  where t.token_hash = token and t.purpose = for_purpose and t.expires_at > at
$$;

-- Uses it up: the account for exactly one of any number of callers, null for all others. Who has it reads that mailbox.
create function svc.use_user_token(for_purpose text, token bytea, at timestamptz) returns uuid
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  with used as (
    delete from user_tokens t where t.token_hash = token and t.purpose = for_purpose and t.expires_at > at
    returning t.user_id)
  update users u set email_verified_at = coalesce(u.email_verified_at, at) from used where u.id = used.user_id
  returning u.id
$$;

-- The password of an account from now on. Links that were mailed before are dead: they were for who did not know it.
create function svc.set_password(account uuid, hash text, at timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update users u set password_hash = hash, password_changed_at = at, updated_at = at where u.id = account;
  delete from user_tokens t where t.user_id = account;
$$;

grant execute on function svc.issue_user_token, svc.read_user_token, svc.use_user_token, svc.set_password to svc_app;
