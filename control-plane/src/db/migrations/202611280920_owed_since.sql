set local role svc_owner;

-- What has lately come to be owed, over all devices: looked up every two seconds for a gateway that hears no hints. `greatest` passes
-- nulls over, and over timestamps it is leakproof: `coalesce` would be no index condition under row-level security.
create index commands_owed_since on svc.commands ((greatest(created_at, not_before, cancel_requested_at))) where owed;
