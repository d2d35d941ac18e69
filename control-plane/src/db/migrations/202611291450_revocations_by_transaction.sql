set local role svc_owner;

-- `at` is when the transaction began: one that takes longer than gateways look back (a tenant of a hundred thousand devices that is
-- given up) would commit unseen. Which transactions were still under way at an earlier read the database knows exactly. Null: from
-- before there was this column. Added without a default first, so that no row is written anew.
alter table svc.revocations add column xact xid8;
alter table svc.revocations alter column xact set default pg_current_xact_id();
create index revocations_xact on svc.revocations (xact);
