set local role svc_owner;
set local "app.scope" = '"system"';

-- A key goes with the membership that it was made under, from now on at once; those whose membership has ended before must not work again
-- for whoever is given another.
update svc.api_keys k set revoked_at = now(), updated_at = now()
where k.revoked_at is null and case when k.member_org is null
  then not exists (select from svc.partner_memberships m where m.partner_id = k.partner_id and m.user_id = k.created_by)
  else not exists (select from svc.organization_memberships m where m.org_id = k.member_org and m.user_id = k.created_by) end;
