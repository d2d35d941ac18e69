-- Roles: svc_owner owns everything and is nobody's login; svc_app serves the API; svc_worker runs background work.
-- Neither of the two owns a table or bypasses row-level security. Roles belong to the cluster, so another database may have made them.
do $$
declare r text;
begin
  foreach r in array array['svc_owner', 'svc_app', 'svc_worker'] loop
    begin
      execute format('create role %I nologin nobypassrls', r);
    exception when duplicate_object or unique_violation then null;
    end;
    -- An installer who is no superuser acts as the roles it made.
    if not (select rolsuper from pg_roles where rolname = current_user) then
      execute format('grant %I to %I', r, current_user);
    end if;
  end loop;
end $$;
-- So that functions of svc_owner may carry `set "app.scope"`: the few look-ups before a scope exists.
do $$ begin
  if not has_parameter_privilege('svc_owner', 'app.scope', 'SET') then
    grant set on parameter "app.scope" to svc_owner;
  end if;
exception when internal_error or unique_violation then null; -- another database of the cluster granted it at this moment
end $$;

create schema svc authorization svc_owner;
set local role svc_owner;
grant usage on schema svc to svc_app, svc_worker;
-- Whoever makes a function says who may call it.
alter default privileges revoke execute on routines from public;

-- What a statement may see is one setting, `app.scope`: `"system"`, or {"partner": id, "orgs": "all" | [ids], "partnerLevel"?: true}.
-- Unset, empty or anything else: nothing. Policies call these inside (select …), so each runs once per statement.
create function svc.scope() returns jsonb language sql stable parallel restricted
  return nullif(current_setting('app.scope', true), '')::jsonb;

create function svc.scope_system() returns boolean language sql stable parallel restricted
  return coalesce(svc.scope() = '"system"'::jsonb, false);

create function svc.scope_partner() returns uuid language sql stable parallel restricted
  return case when jsonb_typeof(svc.scope()) = 'object' then (svc.scope() ->> 'partner')::uuid end;

create function svc.scope_all_orgs() returns boolean language sql stable parallel restricted
  return coalesce(case when jsonb_typeof(svc.scope()) = 'object' then svc.scope() -> 'orgs' = '"all"'::jsonb end, false);

create function svc.scope_orgs() returns uuid[] language sql stable parallel restricted
  return case when jsonb_typeof(svc.scope()) = 'object' and jsonb_typeof(svc.scope() -> 'orgs') = 'array'
    then array(select jsonb_array_elements_text(svc.scope() -> 'orgs')::uuid) else '{}'::uuid[] end;

create function svc.scope_partner_level() returns boolean language sql stable parallel restricted
  return coalesce(case when jsonb_typeof(svc.scope()) = 'object' then svc.scope() -> 'partnerLevel' = 'true'::jsonb end, false);

-- The second wall, the same for every tenant table: called once by each migration that makes one.
-- A row without an organization belongs to the partner's own level: seen by those who see all of its organizations, and by
-- those who administer that level alone (`orgAccess` none).
create procedure svc.tenant_table(t regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', t);
  execute format('alter table %s force row level security', t);
  execute format($p$create policy tenant on %s
    using ((select svc.scope_system()) or (partner_id = (select svc.scope_partner())
      and ((select svc.scope_all_orgs()) or org_id = any ((select svc.scope_orgs())::uuid[])
        or (org_id is null and (select svc.scope_partner_level())))))$p$, t);
end $$;

grant execute on function svc.scope, svc.scope_system, svc.scope_partner, svc.scope_all_orgs, svc.scope_orgs,
  svc.scope_partner_level to svc_app, svc_worker;
