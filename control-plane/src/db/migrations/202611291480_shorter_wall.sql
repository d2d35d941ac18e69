set local role svc_owner;

-- The same wall, with less of it in each statement. Postgres puts a function in `language sql` into the policy as an expression of its own
-- and makes that ready for each table of each statement, whether or not it is asked; one in plpgsql is a single call, made ready at once.
create or replace function svc.scope_system() returns boolean language plpgsql stable parallel restricted as $$
begin
  return coalesce(current_setting('app.scope', true) = '"system"', false);
end $$;

create or replace function svc.scope_partner() returns uuid language plpgsql stable parallel restricted as $$
begin
  return (svc.scope() ->> 'partner')::uuid;
end $$;

-- Asked by nearly every statement. The text as the API writes it is known by its form; any other is read as JSON.
create or replace function svc.scope_whole_partner() returns uuid language plpgsql stable parallel restricted as $$
declare s text := current_setting('app.scope', true);
begin
  if starts_with(s, '{"partner":"') and substring(s, 49) = '","orgs":"all"}' then
    return substring(s, 13, 36)::uuid;
  end if;
  return case when svc.scope() ->> 'orgs' = 'all' then (svc.scope() ->> 'partner')::uuid end;
end $$;

-- Where rows are that a scope with a list sees: in its organizations, and at the partner's own level, which is named by the partner.
create function svc.scope_places() returns uuid[] language plpgsql stable parallel restricted as $$
begin
  return svc.scope_orgs() || case when svc.scope_partner_level() then array[svc.scope_partner()] else '{}' end;
end $$;
grant execute on function svc.scope_places to svc_app, svc_worker;

create or replace procedure svc.tenant_table(t regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', t);
  execute format('alter table %s force row level security', t);
  execute format($p$create policy tenant on %s
    using (partner_id = (select svc.scope_whole_partner()) or (select svc.scope_system())
      or (partner_id = (select svc.scope_partner())
        and coalesce(org_id, partner_id) = any ((select svc.scope_places())::uuid[])))$p$, t);
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
