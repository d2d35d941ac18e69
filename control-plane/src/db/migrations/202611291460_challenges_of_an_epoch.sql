set local role svc_owner;

-- The question for a second factor, in place of `open_mfa_challenge`, which the version before still calls. Takes the user's
-- row lock, so that it comes wholly before or after a logout or a new password, which void it. False when the user was disabled, or
-- `epoch` was raised, since the password was checked: a challenge that was opened after that would let the old password in.
create function svc.open_challenge(account uuid, epoch integer, token bytea, at timestamptz, until timestamptz) returns boolean
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
begin
  perform from users u where u.id = account and u.status = 'active' and u.auth_epoch = epoch for share;
  if not found then return false; end if;
  insert into mfa_challenges (token_hash, user_id, created_at, expires_at) values (token, account, at, until);
  return true;
end $$;

grant execute on function svc.open_challenge(uuid, integer, bytea, timestamptz, timestamptz) to svc_app;
