set local role svc_owner;

-- Whoever ends the logins of a provider holds its row, and then takes its codes and challenges. Whoever uses one of these up holds that
-- row first as well: else each of the two would wait for the other, and one of them fail.
create function svc.hold_sso_provider(provider uuid) returns void
  language sql volatile
as $$
  select from svc.sso_providers p where p.id = provider for share
$$;

create or replace function svc.use_sso_code(code bytea, browser bytea, at timestamptz)
  returns table (id uuid, email text, name text, avatar_url text, auth_epoch integer, mfa_method text, partner_id uuid, org_id uuid,
    provider_id uuid, mfa boolean, mfa_at timestamptz)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
begin
  perform svc.hold_sso_provider(c.provider_id) from sso_codes c where c.code_hash = code and c.browser_hash = browser;
  return query
    with used as (
      delete from sso_codes c where c.code_hash = code and c.browser_hash = browser and c.expires_at > at returning c.*)
    select u.id, u.email, u.name, u.avatar_url, u.auth_epoch, u.mfa_method, p.partner_id, p.org_id, p.id, c.mfa, c.mfa_at
    from used c join users u on u.id = c.user_id and u.status = 'active'
      join sso_providers p on p.id = c.provider_id and p.status = 'active'
      join lateral svc.homes_of(u.id) h on h.org_id = p.org_id;
end $$;

create or replace function svc.close_mfa_challenge(token bytea) returns boolean
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
begin
  perform svc.hold_sso_provider(c.sso_provider_id) from mfa_challenges c
    where c.token_hash = token and c.sso_provider_id is not null;
  delete from mfa_challenges c where c.token_hash = token;
  return found;
end $$;
