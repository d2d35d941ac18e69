set local role svc_owner;

-- How a device is connected, beside its interfaces. No row: it has not said.
create table svc.device_networks (
  device_id uuid primary key,
  partner_id uuid not null,
  org_id uuid not null,
  default_gateway text,
  dns_servers text[] not null default '{}',
  collected_at timestamptz not null,
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on update cascade on delete cascade
);
call svc.tenant_table('svc.device_networks');
grant select on svc.device_networks to svc_app;
grant select, insert, update, delete on svc.device_networks to svc_worker;

create table svc.device_network_interfaces (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  name text not null,
  mac_address text,
  addresses text[] not null default '{}',
  state text not null,
  mtu integer,
  speed_mbps bigint,
  is_primary boolean not null default false,
  primary key (device_id, name),
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on update cascade on delete cascade
);
call svc.tenant_table('svc.device_network_interfaces');
grant select on svc.device_network_interfaces to svc_app;
grant select, insert, update, delete on svc.device_network_interfaces to svc_worker;

-- The largest table of what a device is: some hundreds of rows each. Of one package several versions may be installed (kernels); they
-- are told apart by their place among themselves, so that an update changes a row and does not exchange it.
create table svc.device_software (
  device_id uuid not null,
  partner_id uuid not null,
  org_id uuid not null,
  name text collate "C" not null,
  source text collate "C" not null,
  architecture text collate "C" not null,
  instance smallint not null,
  version text not null,
  vendor text,
  installed_at timestamptz,
  reported_at timestamptz not null,        -- when it was first said to be as it is
  primary key (device_id, name, source, architecture, instance),
  foreign key (partner_id, org_id, device_id) references svc.devices (partner_id, org_id, id) on update cascade on delete cascade
);
call svc.tenant_table('svc.device_software');
grant select on svc.device_software to svc_app;
grant select, insert, update, delete on svc.device_software to svc_worker;
