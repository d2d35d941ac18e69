set local role svc_owner;

-- Where a command belongs in the history of a request: W3C traceparent of the span that queued it, and the id of the request, as in
-- audit_log.request_id. Null: no request asked for it, or a version before this one took it. No row is written anew.
alter table svc.commands add column traceparent text, add column request_id text;
