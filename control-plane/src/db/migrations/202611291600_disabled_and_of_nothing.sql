set local role svc_owner;

-- Who has disabled an account and then given it up has no say in it any more, and nobody else can enable it: it is nobody's again, and may be
-- invited as one that never was (interface §Memberships). Otherwise as before: it has never had a password; or whoever typed its address
-- has not proved it, and nothing belongs to it.
create or replace function svc.is_unclaimed(account uuid) returns boolean
  language sql stable
as $$
  with belonging as (
    select m.user_id from svc.partner_memberships m where m.user_id = account
    union all
    select m.user_id from svc.organization_memberships m where m.user_id = account)
  select exists (select from svc.users u where u.id = account and not u.platform_admin and (
    (u.status = 'disabled' and not exists (select from belonging))
    or (u.email_verified_at is null and (u.status = 'invited'
      or (u.status = 'active' and (u.password_hash is null or not exists (select from belonging)))))))
$$;
