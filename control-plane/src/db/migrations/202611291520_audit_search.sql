set local role svc_owner;

-- One organization's rows, one actor's, one action's: newest first, wherever in time they are.
create index audit_log_of_org on svc.audit_log (partner_id, org_id, at desc, id desc);
create index audit_log_of_actor on svc.audit_log (partner_id, actor_id, at desc, id desc);
create index audit_log_of_action on svc.audit_log (partner_id, action, at desc, id desc);

-- By which words a row is found: those of its texts, and one for each thing that lists filter by, with partner and organization among
-- them. A table of its own, which no role of the product may touch: `@@` is not leakproof, so behind a policy it can use no index.
-- Functions hand out ids alone; the rows are read under both walls.
create table svc.audit_words (
  audit_id uuid primary key,
  partner_id uuid not null,
  org_id uuid,
  words tsvector not null
);
-- No pending list: it would be searched each time, and now and then one writer would put it in order for all.
create index audit_words_found on svc.audit_words using gin (words) with (fastupdate = off);

-- Between characters of ASCII that are neither letter nor digit; the same for rows and for what is searched.
create function svc.words_of(p_text text) returns text[] language sql immutable parallel safe
  return array(select distinct left(w.word, 64)
    from regexp_split_to_table(lower(p_text), '[\u0001-\u002f\u003a-\u0060\u007b-\u007f]+') as w (word)
    where w.word <> '' limit 100);

-- What is searched: all words; one with a star behind it, of three characters at least, is the beginning of one. Not each: for a
-- beginning the index reads all rows of all words that begin so. Null where there is no word in it.
create function svc.words_query(p_text text) returns tsquery language sql immutable parallel safe
  return (select string_agg('''' || left(w.part[1], 64) || '''' || case when w.part[2] = '*' and length(w.part[1]) >= 3 then ':*' else '' end,
      ' & ')::tsquery
    from regexp_matches(lower(p_text), '([^\u0001-\u002f\u003a-\u0060\u007b-\u007f]+)(\*?)', 'g') as w (part));

-- The letters: partner, organization (`-`: the partner's own), user or other actor, e-mail, action, type, id and name of the
-- resource, result. Words of texts hold no colon. Of details what is text, its beginning.
create function svc.words_of_audit(a svc.audit_log) returns tsvector language sql immutable parallel safe
  return array_to_tsvector(array_remove(
    array[
      'p:' || a.partner_id, 'o:' || coalesce(a.org_id::text, '-'), 'u:' || a.actor_id, 'e:' || left(lower(a.actor_email), 255),
      'a:' || left(lower(a.action), 255), 't:' || left(lower(a.resource_type), 255), 'i:' || a.resource_id,
      'n:' || left(lower(a.resource_name), 255), 'r:' || a.result]
    || svc.words_of(concat_ws(' ', a.action, a.resource_type, a.resource_name, a.actor_email,
      left((select string_agg(d.value #>> '{}', ' ')
        from jsonb_path_query(a.details, 'strict $.** ? (@.type() == "string")') as d (value)), 2000))),
    null));

create function svc.index_audit() returns trigger language plpgsql
  security definer set search_path = svc, pg_temp set app.scope = '"system"' as $$
begin
  insert into svc.audit_words (audit_id, partner_id, org_id, words)
  values (new.id, new.partner_id, new.org_id, svc.words_of_audit(new));
  return null;
end $$;
create trigger audit_words after insert on svc.audit_log
  for each row when (new.partner_id is not null) execute function svc.index_audit();

-- At most so many of the rows that have these words, in no order. Without sequential scans: a plan that hopes to see enough rows
-- soon reads the whole table where there are none.
create function svc.audit_matches(p_words tsquery, p_most integer) returns setof uuid language sql stable rows 5000
  security definer set search_path = svc, pg_temp set app.scope = '"system"' set enable_seqscan = off
begin atomic
  select w.audit_id from svc.audit_words w where w.words @@ p_words limit p_most;
end;

-- Those of these rows that have these words.
create function svc.audit_among(p_ids uuid[], p_words tsquery) returns setof uuid language sql stable rows 500
  security definer set search_path = svc, pg_temp set app.scope = '"system"' set enable_seqscan = off
begin atomic
  select w.audit_id from svc.audit_words w where w.audit_id = any (p_ids) and w.words @@ p_words;
end;

revoke execute on function svc.index_audit, svc.audit_matches, svc.audit_among from public;
grant execute on function svc.audit_matches, svc.audit_among to svc_app;
grant execute on function svc.words_of, svc.words_query to svc_app;
