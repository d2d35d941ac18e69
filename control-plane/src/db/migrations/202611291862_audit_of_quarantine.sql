set local role svc_owner;

-- What the server does to a device by itself is written down in the transaction that does it, by the role that does it.
grant execute on function svc.write_audit(jsonb) to svc_worker;
-- A token that was replaced is kept for a time, and looked for by its age.
create index device_past_tokens_retired on svc.device_past_tokens using btree (retired_at);
