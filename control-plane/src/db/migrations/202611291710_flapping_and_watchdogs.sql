set local role svc_owner;

-- Connections since `reconnects_since`, as long as they come close enough upon each other; and the watchdog's own last contact.
alter table svc.device_presence
  add column reconnects integer not null default 0,
  add column reconnects_since timestamptz,
  add column reconnected_at timestamptz,
  add column watchdog_seen_at timestamptz;

-- Set while a device comes and goes; meanwhile `connectivity_told` is what was told of it last.
alter table svc.devices
  add column flapping_since timestamptz,
  add column connectivity_told text check (connectivity_told in ('online', 'offline'));
grant select (flapping_since) on svc.devices to svc_app;

-- What the sweep looks for: devices that flap, and watchdogs that may have fallen silent.
create index devices_flapping on svc.devices (id) where flapping_since is not null;
create index devices_watched on svc.devices (id) where watchdog_status in ('connected', 'failover');
