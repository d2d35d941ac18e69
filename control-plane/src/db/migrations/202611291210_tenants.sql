set local role svc_owner;

-- How much a partner may have (null: any number), and when it was given up; the row stays.
alter table svc.partners add column max_organizations integer check (max_organizations >= 0),
  add column max_devices integer check (max_devices >= 0), add column deleted_at timestamptz;
-- In scope "system" alone: the policy takes no new partner from anybody else.
grant insert on svc.partners to svc_app;

-- Devices of the past keep their site; its name is free again because it is given another one.
alter table svc.sites add column deleted_at timestamptz;

-- The logins of a tenant end: of an organization, or of a partner and all of its organizations. Refresh families are closed to the API.
create function svc.end_tenant_sessions(partner uuid, org uuid, reason text, at timestamptz) returns void
  language sql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
  update refresh_families f set revoked_at = at, revoked_reason = reason
  where f.partner_id = partner and (org is null or f.org_id = org) and f.revoked_at is null
$$;

-- What is left of a partner's devices: an enrollment sees its own organization alone. Where there is a limit, enrollments of the
-- partner wait for each other from here on, so that no two count the same free place.
create function svc.devices_of_partner(partner uuid) returns table (devices integer, max_devices integer)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
declare most integer;
begin
  select p.max_devices into most from partners p where p.id = partner;
  if most is null then return; end if;
  select p.max_devices into most from partners p where p.id = partner for no key update;
  return query select count(*)::integer, most from devices d where d.partner_id = partner and d.lifecycle <> 'decommissioned';
end $$;

grant execute on function svc.end_tenant_sessions, svc.devices_of_partner to svc_app;
