set local role svc_owner;

-- A key is announced, until every process knows it; then it seals, and the one before retires: it opens what it sealed until nothing
-- of that is left. One of each at most.
alter table svc.sealing_keys
  add column state text not null default 'sealing' check (state in ('announced', 'sealing', 'retiring')),
  add column state_since timestamptz not null default now();
create unique index sealing_keys_state on svc.sealing_keys (state);

-- Which keys each running process holds. Whoever was not seen for a while has ended.
create table svc.sealing_key_holders (
  process text primary key,
  key_ids text[] not null,
  seals_under text not null,
  seen_at timestamptz not null default now()
);
grant select, insert, update, delete on svc.sealing_key_holders to svc_worker;

-- The key that a sealed value names (its bytes 2 to 5). What is shorter than the least envelope is none.
create function svc.sealed_under(sealed bytea) returns text
  language sql immutable strict parallel safe set search_path = pg_catalog as $$
  select case when octet_length(sealed) >= 33 then encode(substring(sealed from 2 for 4), 'hex') end $$;
grant execute on function svc.sealed_under to svc_app, svc_worker;

-- By these references a key cannot go while anything is sealed under it, and nothing can be sealed under one that went: not by a process
-- that slept through the rotation either.
alter table svc.users
  add column totp_secret_under text generated always as (svc.sealed_under(totp_secret)) stored references svc.sealing_keys (key_id);
alter table svc.mfa_setups
  add column secret_under text generated always as (svc.sealed_under(secret)) stored references svc.sealing_keys (key_id),
  add column recovery_codes_under text generated always as (svc.sealed_under(recovery_codes)) stored
    references svc.sealing_keys (key_id);

-- A job's payload is no column of ours: the one way into the queue asks instead of a reference.
create or replace function svc.enqueue(task text, payload jsonb, key text default null, run_at timestamptz default null,
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
  if enqueue.payload ? 'sealed' then
    perform from sealing_keys k where k.key_id = sealed_under(decode(enqueue.payload ->> 'sealed', 'base64')) for key share;
    if not found then
      raise exception 'the payload is sealed under a key that this database does not know' using errcode = '22023';
    end if;
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
