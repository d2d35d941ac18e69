set local role svc_owner;

-- As before; and of one user at most 200 logins live at once: all of them are read whenever it is asked who calls.
create or replace function svc.open_session(account uuid, epoch integer, partner uuid, org uuid, family uuid, token bytea,
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
  update refresh_families f set revoked_at = at, revoked_reason = 'too many logins'
    where f.id in (select o.id from refresh_families o
      where o.user_id = account and o.revoked_at is null and o.expires_at > at and o.id <> family
      order by o.created_at desc, o.id desc offset 199);
  return query select epoch;
end $$;
