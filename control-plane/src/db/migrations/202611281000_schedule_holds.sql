set local role svc_owner;

-- One that cannot be acted upon waits for a while, says why, and is in nobody's way.
alter table svc.schedule_entries
  add column held_until timestamptz,
  add column last_error text,
  -- with the moment that is added to it, it fits into the queue
  add constraint schedule_entries_payload check (octet_length(payload::text) <= 61440);

-- The server's own recurring work: each so many milliseconds, or by the clock (UTC).
alter table svc.schedules
  alter column every_ms drop not null,
  add column cron text,
  add constraint schedules_timing check ((every_ms is null) <> (cron is null));
