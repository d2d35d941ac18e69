-- needs graphile_worker
set local role svc_owner;

-- The tasks that may be enqueued: each process adds those of its version when it starts.
create table svc.job_tasks (
  name text primary key check (name ~ '^[a-z][a-z0-9_.-]{0,99}$'),
  max_attempts smallint not null check (max_attempts between 1 and 100)
);
grant select, insert, update on svc.job_tasks to svc_worker;

-- Who works off jobs. Whoever was not seen for a while is dead, and what it held is given to others.
create table svc.job_pools (
  pool text primary key,
  seen_at timestamptz not null default now()
);
grant select, insert, update, delete on svc.job_pools to svc_worker;

-- The one way into the queue, in the caller's transaction. A key that is there already: what waits under it is replaced.
create function svc.enqueue(task text, payload jsonb, key text default null, run_at timestamptz default null,
    queue text default null, max_attempts integer default null)
  returns bigint language plpgsql security definer
  set search_path = svc, pg_temp set "app.scope" = '"system"' as $$
declare
  usual smallint;
  job bigint;
begin
  select t.max_attempts into usual from job_tasks t where t.name = enqueue.task;
  if not found then
    raise exception 'no task is named %', quote_nullable(enqueue.task) using errcode = '22023';
  end if;
  if jsonb_typeof(enqueue.payload) is distinct from 'object' or octet_length(enqueue.payload::text) > 65536 then
    raise exception 'a payload is an object of at most 64 KiB' using errcode = '22023';
  end if;
  -- A job of this key that a worker takes up at this very moment is neither replaced nor in the way: once more, and it is.
  for tries in 1..5 loop
    select j.id into job from graphile_worker.add_job(
      identifier => enqueue.task, payload => enqueue.payload::json, queue_name => enqueue.queue, run_at => enqueue.run_at,
      max_attempts => coalesce(enqueue.max_attempts, usual), job_key => enqueue.key) j;
    if job is not null then return job; end if;
  end loop;
  raise exception 'the job could not be enqueued' using errcode = '40001';
end $$;
grant execute on function svc.enqueue to svc_app, svc_worker;

-- Its tables are under row-level security that lets nobody in but their owner. The worker works on them; payloads are nobody else's.
grant usage on schema graphile_worker to public;
grant select on graphile_worker.migrations to public;
grant select, insert, update, delete on graphile_worker._private_jobs, graphile_worker._private_job_queues to svc_worker;
grant select, insert on graphile_worker._private_tasks to svc_worker;
grant execute on function graphile_worker.force_unlock_workers to svc_worker;
create policy worker on graphile_worker._private_jobs to svc_worker using (true);
create policy worker on graphile_worker._private_job_queues to svc_worker using (true);
create policy worker on graphile_worker._private_tasks to svc_worker using (true);
