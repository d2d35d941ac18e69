set local role svc_owner;
set local app.scope = '"system"';

-- The rows that were there before: by themselves, so that no writer waits meanwhile. What comes in the meantime has been queued.
insert into svc.audit_unsealed (audit_id)
  select a.id from svc.audit_log a where not exists (select from svc.audit_seal s where s.audit_id = a.id)
  on conflict do nothing;
