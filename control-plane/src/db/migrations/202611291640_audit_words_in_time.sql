set local role svc_owner;
-- The rows of all partners, as the system sees them.
set local app.scope = '"system"';

-- What words find is wanted newest first: with the time beside them, only the rows that are shown have to be fetched.
drop index svc.audit_words_found;
alter table svc.audit_words add column at timestamptz;
update svc.audit_words w set at = a.at from svc.audit_log a where a.id = w.audit_id;
-- Words of no row find nothing.
delete from svc.audit_words w where w.at is null;
alter table svc.audit_words alter column at set not null;
create index audit_words_found on svc.audit_words using gin (words) with (fastupdate = off);

create or replace function svc.index_audit() returns trigger language plpgsql
  security definer set search_path = svc, pg_temp set app.scope = '"system"' as $$
begin
  insert into svc.audit_words (audit_id, at, partner_id, org_id, words)
  values (new.id, new.at, new.partner_id, new.org_id, svc.words_of_audit(new));
  return null;
end $$;

drop function svc.audit_matches(tsquery, integer);
-- At most so many of the rows that have these words, in no order. Without sequential scans: a plan that hopes to see enough rows
-- soon reads the whole table where there are none.
create function svc.audit_matches(p_words tsquery, p_most integer) returns table (id uuid, at timestamptz) language sql stable rows 5000
  security definer set search_path = svc, pg_temp set app.scope = '"system"' set enable_seqscan = off
begin atomic
  select w.audit_id, w.at from svc.audit_words w where w.words @@ p_words limit p_most;
end;
revoke execute on function svc.audit_matches from public;
grant execute on function svc.audit_matches to svc_app;
