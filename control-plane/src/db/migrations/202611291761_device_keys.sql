set local role svc_owner;

-- One device of each key in its organization: whoever enrolls twice with one, because no answer came, is the same device.
create unique index devices_public_key on svc.devices (partner_id, org_id, public_key)
  where public_key is not null and lifecycle <> 'decommissioned';

-- The device that has this key in the organization, for the API, which reads no credential; `is_new`: nobody was ever connected as it.
-- Whoever enrolls with the same key waits until the transaction ends, whether there is such a device or not.
create function svc.device_of_key(org uuid, key bytea)
  returns table (id uuid, site_id uuid, is_new boolean)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
begin
  perform pg_advisory_xact_lock(hashtextextended('svc.device_of_key ' || org || encode(key, 'hex'), 0));
  return query
    select d.id, d.site_id, d.lifecycle = 'active' and p.last_seen_at is null
    from devices d join device_presence p on p.device_id = d.id
    where d.org_id = org and d.public_key = key and d.lifecycle <> 'decommissioned'
    for no key update of d;
end $$;
revoke all on function svc.device_of_key(uuid, bytea) from public;
grant execute on function svc.device_of_key(uuid, bytea) to svc_app;
