set local role svc_owner;

-- Checks an enrollment key and counts its use in one statement, before a scope exists: parallel enrollments wait on the row and
-- the limit is judged again after the wait, so a key of ten admits ten. The transaction's end decides whether the use stays
-- counted. `refusal` is null for a good key; otherwise it is for the audit log alone. A key that is not known does the same two
-- look-ups as one that is expired, exhausted or revoked.
create function svc.use_enrollment_key(hash bytea)
  returns table (key_id uuid, partner_id uuid, org_id uuid, site_id uuid, refusal text)
  language plpgsql volatile security definer
  set search_path = svc, pg_temp
  set "app.scope" = '"system"'
as $$
#variable_conflict use_column
begin
  return query
    update enrollment_keys k set usage_count = k.usage_count + 1
    from organizations o, partners p
    where k.key_hash = hash and k.revoked_at is null and k.expires_at > now()
      and (k.max_usage is null or k.usage_count < k.max_usage)
      and o.id = k.org_id and o.deleted_at is null and o.status in ('active', 'trial')
      and p.id = k.partner_id and p.status in ('pending', 'active')
    returning k.id, k.partner_id, k.org_id, k.site_id, null::text;
  if found then return; end if;
  return query
    select k.id, k.partner_id, k.org_id, k.site_id, case
      when k.id is null then 'unknown'
      when k.revoked_at is not null then 'revoked'
      when k.expires_at <= now() then 'expired'
      when k.max_usage is not null and k.usage_count >= k.max_usage then 'exhausted'
      else 'organization inactive' end
    from (values (1)) one (row) left join enrollment_keys k on k.key_hash = hash;
end $$;

revoke all on function svc.use_enrollment_key(bytea) from public;
grant execute on function svc.use_enrollment_key(bytea) to svc_app;

-- An enrolling device may bring its hardware along.
grant insert on svc.device_hardware to svc_app;
