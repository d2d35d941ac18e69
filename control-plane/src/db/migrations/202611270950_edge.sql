set local role svc_owner;

-- Gateway nodes; a node whose lease has run out holds no device (decisions 20).
create table svc.gateway_nodes (
  node text primary key,
  version text not null,
  connections integer not null default 0,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null
);
grant select on svc.gateway_nodes to svc_app;
grant select, insert, update, delete on svc.gateway_nodes to svc_worker;

-- How far the up-stream of a shard has been worked off, per node. `since` starts the present unbroken run: silence is counted
-- only while somebody was listening.
create table svc.edge_watermarks (
  shard smallint not null,
  node text not null,
  since timestamptz not null,
  through timestamptz not null,
  primary key (shard, node)
);
grant select, insert, update, delete on svc.edge_watermarks to svc_worker;

-- One consumer per shard at a time; `fence` rises with each owner (decisions 34).
create table svc.shard_leases (
  shard smallint primary key,
  owner text,
  fence bigint not null default 0,
  lease_until timestamptz not null default '-infinity'
);
insert into svc.shard_leases (shard) select generate_series(0, 15);
grant select, update on svc.shard_leases to svc_worker;

-- Workers that are alive: shards are shared out evenly among them.
create table svc.workers (
  worker text primary key,
  lease_until timestamptz not null
);
grant select, insert, update, delete on svc.workers to svc_worker;

-- Dead credentials, kept longer than a gateway may remember a profile (48 h against 24 h).
create table svc.revocations (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  device_id uuid not null,
  credential_version bigint not null,
  reason text not null,
  at timestamptz not null default now()
);
create index revocations_at on svc.revocations (at);
call svc.tenant_table('svc.revocations');
grant insert on svc.revocations to svc_app;
grant select, insert, delete on svc.revocations to svc_worker;
