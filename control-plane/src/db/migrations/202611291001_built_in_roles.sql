set local role svc_owner;

-- The built-in roles of tenants that are there already; new ones get theirs from control-plane/src/areas/access/roles/built-in.
-- Where a role of such a name was made by hand, it stays what it is.
do $$
declare
  readers text[] := array['organizations:read', 'sites:read', 'devices:read', 'scripts:read', 'alerts:read', 'automations:read',
    'patches:read', 'security:read', 'software:read', 'monitoring:read', 'policies:read', 'maintenance:read', 'reports:read'];
  technician text[] := readers || array['devices:write', 'devices:execute', 'scripts:execute', 'alerts:acknowledge',
    'patches:execute', 'security:execute', 'software:execute', 'monitoring:execute', 'maintenance:write', 'reports:write',
    'remote:access'];
  administrator text[] := array['devices:read', 'devices:write', 'devices:delete', 'devices:execute', 'scripts:read',
    'scripts:write', 'scripts:delete', 'scripts:execute', 'alerts:read', 'alerts:write', 'alerts:acknowledge',
    'automations:read', 'automations:write', 'automations:delete', 'users:read', 'users:write', 'users:delete', 'users:invite',
    'organizations:read', 'organizations:write', 'sites:read', 'sites:write', 'sites:delete', 'remote:access', 'audit:read',
    'audit:export', 'patches:read', 'patches:approve', 'patches:execute', 'security:read', 'security:write', 'security:execute',
    'software:read', 'software:write', 'software:execute', 'monitoring:read', 'monitoring:write', 'monitoring:execute',
    'policies:read', 'policies:write', 'policies:execute', 'maintenance:read', 'maintenance:write', 'reports:read',
    'reports:write', 'reports:delete', 'reports:export', 'integrations:read', 'integrations:write', 'ai:use', 'backup:read',
    'backup:write', 'billing:read'];
  made record;
begin
  perform set_config('app.scope', '"system"', true);
  for made in
    with wanted (scope, name, description, rights) as (values
      ('partner', 'Partner Technician', 'Works on devices of all organizations it has access to', technician),
      ('partner', 'Partner Viewer', 'Sees what there is, and changes nothing', readers),
      ('organization', 'Organization Admin', 'Runs the organization: everything but deleting it', administrator),
      ('organization', 'Organization Technician', 'Works on devices of the organization', technician),
      ('organization', 'Organization Viewer', 'Sees what there is, and changes nothing', readers)
    ), owners as (
      select 'partner' as scope, p.id as partner_id, null::uuid as org_id from svc.partners p
      union all
      select 'organization', o.partner_id, o.id from svc.organizations o where o.deleted_at is null
    ), fresh as (
      insert into svc.roles (id, partner_id, org_id, scope, name, description, is_system)
      select gen_random_uuid(), o.partner_id, o.org_id, w.scope, w.name, w.description, true
      from owners o join wanted w on w.scope = o.scope
      on conflict do nothing
      returning id, partner_id, org_id, name
    )
    select f.id, f.partner_id, f.org_id, w.rights from fresh f join wanted w on w.name = f.name
  loop
    insert into svc.role_permissions (role_id, partner_id, org_id, resource, action)
    select made.id, made.partner_id, made.org_id, split_part(r, ':', 1), split_part(r, ':', 2) from unnest(made.rights) r;
  end loop;
  perform set_config('app.scope', '', true);
end $$;
