set local role svc_owner;

-- The chains of the audit log, one for each partner (docs/decisions/0030). A seal is appended by svc.seal_audit alone and never changed.
create table svc.audit_seal (
  partner uuid not null,                   -- all zeros: rows of the system itself
  seq bigint not null check (seq > 0),     -- without gaps, given when a row is sealed
  audit_id uuid not null unique,
  hash bytea not null check (length(hash) = 32),
  primary key (partner, seq)               -- two who seal at once can never fork a chain
);
alter table svc.audit_seal enable row level security;
alter table svc.audit_seal force row level security;
create policy system_only on svc.audit_seal using ((select svc.scope_system()));
grant select on svc.audit_seal to svc_worker;

-- Rows of the audit log that are not sealed yet: by themselves, since an anti-join over all of them costs more each year, and a
-- mark of how far one has come would leave out what commits later than what was numbered after it.
create table svc.audit_unsealed (audit_id uuid primary key);
grant select on svc.audit_unsealed to svc_worker;

-- Ends of chains that are to be told outside of the database: written with the seals, gone when they are told.
create table svc.audit_heads_owed (
  partner uuid not null,
  seq bigint not null,
  hash bytea not null,
  primary key (partner, seq)
);
grant select, delete on svc.audit_heads_owed to svc_worker;

-- Whoever writes a row: with it goes that it has to be sealed. The log is written through svc.write_audit alone.
revoke insert on svc.audit_log from svc_app, svc_worker;
create function svc.await_seal() returns trigger language plpgsql as $$
begin
  insert into svc.audit_unsealed (audit_id) values (new.id);
  return null;
end $$;
create trigger audit_await_seal after insert on svc.audit_log for each row execute function svc.await_seal();

-- The bytes of a row, version 1: its columns that are not null as jsonb, the time in microseconds. A column that comes later is in
-- it by itself, and changes nothing of the rows before as long as it is null there.
create function svc.audit_text(a svc.audit_log) returns text language sql stable parallel safe
  return (select jsonb_object_agg(c.key, c.value)::text
    from jsonb_each(to_jsonb(a) || jsonb_build_object('at', (extract(epoch from a.at) * 1000000)::bigint)) as c (key, value)
    where c.value <> 'null');

-- Seals at most so many rows, the oldest ids first; returns how many. Any number of processes may call it: of each chain one is the
-- leader at a time, and who is not passes it over.
create function svc.seal_audit(p_most integer) returns integer language plpgsql
  security definer set search_path = svc, pg_temp set app.scope = '"system"' as $$
declare
  system constant uuid := '00000000-0000-0000-0000-000000000000';
  chain record;
  entry record;
  last_seq bigint;
  last_hash bytea;
  next_hash bytea;
  before bigint;
  sealed integer := 0;
begin
  for chain in
    select b.partner, array_agg(b.audit_id) as ids
    from (select u.audit_id, coalesce(a.partner_id, system) as partner
      from audit_unsealed u join audit_log a on a.id = u.audit_id order by u.audit_id limit p_most) b
    group by b.partner
  loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('svc.audit_seal ' || chain.partner, 0));
    -- Statements of their own: they see what the leader before has committed.
    select s.seq, s.hash into last_seq, last_hash from audit_seal s
      where s.partner = chain.partner order by s.seq desc limit 1;
    if not found then
      last_seq := 0;
      last_hash := decode(repeat('00', 32), 'hex');
    end if;
    before := last_seq;
    for entry in
      with taken as (delete from audit_unsealed u where u.audit_id = any (chain.ids) returning u.audit_id)
      select a.id, svc.audit_text(a) as bytes from taken t join audit_log a on a.id = t.audit_id
      where not exists (select from audit_seal s where s.audit_id = a.id) order by a.id
    loop
      next_hash := sha256('svc.audit.v1'::bytea || '\x00'::bytea || uuid_send(chain.partner) || int8send(last_seq + 1) || last_hash
        || convert_to(entry.bytes, 'UTF8'));
      insert into audit_seal (partner, seq, audit_id, hash)
        select chain.partner, last_seq + 1, entry.id, next_hash
        where last_seq = 0
          or exists (select from audit_seal s where s.partner = chain.partner and s.seq = last_seq and s.hash = last_hash);
      if not found then
        raise exception 'the chain of % does not end as it did: seq %', chain.partner, last_seq;
      end if;
      last_seq := last_seq + 1;
      last_hash := next_hash;
    end loop;
    if last_seq > before then
      insert into audit_heads_owed (partner, seq, hash) values (chain.partner, last_seq, last_hash);
      sealed := sealed + (last_seq - before);
    end if;
  end loop;
  return sealed;
end $$;
grant execute on function svc.seal_audit to svc_worker;
