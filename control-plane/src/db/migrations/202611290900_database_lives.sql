set local role svc_owner;

-- What tells this database from an earlier or later life of itself: a restore to a moment and the promotion of a standby begin another
-- timeline, a dump that was read in is in another cluster or has another number there.
create function svc.database_identity() returns text
language plpgsql stable set search_path = pg_catalog as $$
declare
  cluster text := '';
begin
  begin
    select system_identifier::text into cluster from pg_control_system();
  exception when insufficient_privilege then
    null; -- where a hosted server keeps that to itself, the rest tells most of it
  end;
  return cluster || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/'
    || (select oid::text from pg_database where datname = current_database());
end $$;
revoke execute on function svc.database_identity() from public;
grant execute on function svc.database_identity() to svc_worker;

-- The lives of the database, as far as a control plane saw them. In each but the first what others remember may be newer than what
-- stands here: until `ask_until` agents are asked what became of their commands.
create table svc.database_lives (
  number bigint primary key,               -- ms since 1970: it rises also where rows were lost
  identity text not null unique,
  began_at timestamptz not null default now(),
  ask_until timestamptz,                   -- null: the first
  details jsonb not null default '{}',
  told_at timestamptz                      -- the operator was told, in the audit log
);
grant select, insert on svc.database_lives to svc_worker;
grant select, update (told_at) on svc.database_lives to svc_app;
