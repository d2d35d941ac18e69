set local role svc_owner;
set local app.scope = '"system"';

-- Master keys that went. Their files may lie in KEYS_DIR for long, for the backups that need them: none of them seals anything again.
create table svc.retired_master_keys (
  key_id text primary key,
  retired_at timestamptz not null default now()
);
insert into svc.retired_master_keys (key_id, retired_at)
  select a.resource_name, min(a.at) from svc.audit_log a
  where a.action = 'master_key.retire' and a.resource_type = 'master_key' and a.resource_name is not null
    and not exists (select from svc.sealing_keys k where k.key_id = a.resource_name)
  group by a.resource_name;
