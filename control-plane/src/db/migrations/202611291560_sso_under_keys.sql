set local role svc_owner;

-- As every sealed value: its key cannot go before it.
alter table svc.sso_providers
  add column client_secret_under text generated always as (svc.sealed_under(client_secret)) stored references svc.sealing_keys (key_id);
alter table svc.sso_logins
  add column sealed_under text generated always as (svc.sealed_under(sealed)) stored references svc.sealing_keys (key_id);
-- For the worker that seals anew.
grant select (id, org_id, client_secret, client_secret_under), update (client_secret) on svc.sso_providers to svc_worker;
grant select (sealed_under) on svc.sso_logins to svc_worker;
