import type { Limited, Stage } from './stage.ts'

/** A device that a member may see, by the membership's row and nothing of the product. */
export interface SeenDevice {
  id: string
  siteId: string
  hostname: string
  retired: boolean
  quarantined: boolean
  groups: string[]
}

/** Asked as superuser: neither wall of the product has a say in it. */
export const seenDevices = ({ world: { owner } }: Stage, { person }: Limited) => owner<SeenDevice[]>`
  select d.id, d.site_id as "siteId", d.hostname, d.lifecycle = 'decommissioned' as retired, d.lifecycle = 'quarantined' as quarantined,
    array(select g.group_id::text from svc.device_group_members g where g.device_id = d.id) as groups
  from svc.devices d join svc.organization_memberships o on o.org_id = d.org_id
  where o.user_id = ${person.userId} and (o.site_ids is null or d.site_id = any (o.site_ids))
    and (o.device_group_ids is null or d.id in (
      select g.device_id from svc.device_group_members g where g.group_id = any (o.device_group_ids)))`

export const seenGroups = ({ world: { owner } }: Stage, { person }: Limited) => owner<{ id: string }[]>`
  select g.id from svc.device_groups g join svc.organization_memberships o on o.org_id = g.org_id
  where o.user_id = ${person.userId} and (o.device_group_ids is null or g.id = any (o.device_group_ids))`

export const seenSites = ({ world: { owner } }: Stage, { person }: Limited) => owner<{ id: string }[]>`
  select s.id from svc.sites s join svc.organization_memberships o on o.org_id = s.org_id
  where o.user_id = ${person.userId} and s.deleted_at is null and (o.site_ids is null or s.id = any (o.site_ids))`

export const seenKeys = ({ world: { owner } }: Stage, { person }: Limited) => owner<{ id: string }[]>`
  select k.id from svc.enrollment_keys k join svc.organization_memberships o on o.org_id = k.org_id
  where o.user_id = ${person.userId} and (o.site_ids is null or k.site_id = any (o.site_ids))`

export const seenChanges = async (stage: Stage, limited: Limited, groupId: string) => {
  const devices = (await seenDevices(stage, limited)).map(({ id }) => id)
  return stage.world.owner<{ id: string }[]>`
    select l.id from svc.device_group_log l where l.group_id = ${groupId} and l.device_id = any (${devices}::uuid[])`
}

/** Every id and name of devices, their commands, and groups that a member must never read. */
export async function hidden(stage: Stage, limited: Limited): Promise<string[]> {
  const { owner } = stage.world
  const devices = (await seenDevices(stage, limited)).map(({ id }) => id)
  const groups = (await seenGroups(stage, limited)).map(({ id }) => id)
  const rows = await owner<{ text: string }[]>`
    select unnest(array[d.id::text, d.hostname]) as text from svc.devices d where d.id <> all (${devices}::uuid[])
    union all select c.id::text from svc.commands c where c.device_id <> all (${devices}::uuid[])
    union all select g.id::text from svc.device_groups g where g.id <> all (${groups}::uuid[])`
  return rows.map(({ text }) => text)
}

/** What a device is and was told to do, as one text: what differs between two of them was changed in between. */
export async function stateOf({ world: { owner } }: Stage, id: string): Promise<string> {
  const [row] = await owner<{ text: string }[]>`
    select d::text || (select coalesce(string_agg(c::text, '|' order by c.id), '') from svc.commands c where c.device_id = d.id)
      || (select coalesce(string_agg(p::text, '|'), '') from svc.device_presence p where p.device_id = d.id) as text
    from svc.devices d where d.id = ${id}`
  return row?.text ?? 'gone'
}
