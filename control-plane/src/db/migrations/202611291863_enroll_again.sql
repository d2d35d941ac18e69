set local role svc_owner;

-- As use_enrollment_key, for a device that brings a key of its own: where this enrollment key made a device of it already, and nobody was
-- connected as that yet, its answer was lost. It was counted then, and is not again; nor is a key too used up for it that is so by it.
create function svc.use_enrollment_key_of_device(hash bytea, device_key bytea)
  returns table (key_id uuid, partner_id uuid, org_id uuid, site_id uuid, refusal text)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
begin
  -- Behind whoever uses the key now: that may be the same device.
  perform from enrollment_keys k where k.key_hash = hash for no key update;
  return query
    select k.id, k.partner_id, k.org_id, k.site_id, null::text
    from enrollment_keys k
    join organizations o on o.id = k.org_id and o.deleted_at is null and o.status in ('active', 'trial')
    join partners p on p.id = k.partner_id and p.status in ('pending', 'active')
    join devices d on d.partner_id = k.partner_id and d.org_id = k.org_id and d.public_key = device_key
      and d.enrollment_key_id = k.id and d.lifecycle = 'active'
    join device_presence s on s.device_id = d.id and s.last_seen_at is null
    where k.key_hash = hash and k.revoked_at is null and k.expires_at > now();
  if found then return; end if;
  return query select u.key_id, u.partner_id, u.org_id, u.site_id, u.refusal from use_enrollment_key(hash) u;
end $$;
revoke all on function svc.use_enrollment_key_of_device(bytea, bytea) from public;
grant execute on function svc.use_enrollment_key_of_device(bytea, bytea) to svc_app;
