set local role svc_owner;

-- The same wall, asked in the order in which it mostly opens: nearly every statement is of somebody who sees the whole partner, and
-- then one comparison decides. The conditions behind it are evaluated for the others only.
create function svc.scope_whole_partner() returns uuid language sql stable parallel restricted
  return case when svc.scope() ->> 'orgs' = 'all' then (svc.scope() ->> 'partner')::uuid end;
grant execute on function svc.scope_whole_partner to svc_app, svc_worker;

-- Read once instead of once per test: `->>` on anything but an object is null, and the array of another text than `all` begins with `[`.
create or replace function svc.scope_system() returns boolean language sql stable parallel restricted
  return coalesce(current_setting('app.scope', true) = '"system"', false);
create or replace function svc.scope_partner() returns uuid language sql stable parallel restricted
  return (svc.scope() ->> 'partner')::uuid;

create or replace procedure svc.tenant_table(t regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', t);
  execute format('alter table %s force row level security', t);
  execute format($p$create policy tenant on %s
    using (partner_id = (select svc.scope_whole_partner()) or (select svc.scope_system())
      or (partner_id = (select svc.scope_partner()) and (org_id = any ((select svc.scope_orgs())::uuid[])
        or (org_id is null and (select svc.scope_partner_level())))))$p$, t);
end $$;

-- All tables of tenants at once, whose policies were word for word the same.
do $$
declare t regclass;
begin
  for t in select format('svc.%I', tablename)::regclass from pg_policies
    where schemaname = 'svc' and policyname = 'tenant' and qual like '%scope\_orgs()%' loop
    execute format('drop policy tenant on %s', t);
    call svc.tenant_table(t);
  end loop;
end $$;
