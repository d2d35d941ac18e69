set local role svc_owner;

-- When the last base backup was made and checked: infra/backup/base-backup.sh says so, and nobody else knows.
create table svc.base_backup (
  only_one boolean primary key default true check (only_one),
  name text not null,
  finished_at timestamptz not null default now()
);
grant select on svc.base_backup to svc_worker;
