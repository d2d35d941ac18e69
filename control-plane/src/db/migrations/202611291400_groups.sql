set local role svc_owner;

-- A group's name is unique in its organization, whatever the case.
create unique index device_groups_name on svc.device_groups (partner_id, org_id, lower(name));
create index device_groups_newest on svc.device_groups (partner_id, created_at desc, id desc);
grant insert, update, delete on svc.device_groups to svc_app;

-- The newest members of one group first.
create index device_group_members_newest on svc.device_group_members (group_id, added_at desc, device_id desc);
grant insert, delete on svc.device_group_members to svc_app;

-- What became of a group's members. It goes with its group; the audit log stays.
create table svc.device_group_log (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  group_id uuid not null,
  device_id uuid not null,
  action text not null check (action in ('added', 'removed')),
  reason text not null check (reason in ('manual')),
  created_at timestamptz not null default now(),
  foreign key (partner_id, org_id, group_id) references svc.device_groups (partner_id, org_id, id) on delete cascade
);
create index device_group_log_newest on svc.device_group_log (group_id, created_at desc, id desc);
call svc.tenant_table('svc.device_group_log');
grant select, insert on svc.device_group_log to svc_app;
grant select, insert, update, delete on svc.device_group_log to svc_worker;
