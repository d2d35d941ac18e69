set local role svc_owner;
set local app.scope = '"system"';

-- The rows that were there before: by themselves, so that no writer waits meanwhile. What comes in the meantime has its words.
insert into svc.audit_words (audit_id, partner_id, org_id, words)
  select a.id, a.partner_id, a.org_id, svc.words_of_audit(a) from svc.audit_log a where a.partner_id is not null
  on conflict do nothing;
