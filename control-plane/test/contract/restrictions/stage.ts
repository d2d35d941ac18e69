import type { Site } from '../../harness/make.ts'
import type { Person } from '../../harness/people.ts'
import { call } from '../world/calls.ts'
import type { Things, World } from '../world/things.ts'

/** What a membership of an organization is limited to (interface §Memberships). */
export interface Limits {
  siteIds?: string[]
  deviceGroupIds?: string[]
}

/** A member who may do everything, of what the limits leave. */
export interface Limited {
  name: string
  person: Person
  limits: Limits
}

/** A device of the stage with a command that waits. */
export interface Machine {
  id: string
  hostname: string
  commandId: string
  at: Site
  groups: readonly string[]
  lifecycle: 'active' | 'decommissioned'
}

/** One organization with two sites and two groups, devices in every combination of them, and members limited to one of each. */
export interface Stage {
  world: World
  sites: readonly Site[]
  groups: readonly string[]
  things: Things
  machines: readonly Machine[]
  limited: readonly Limited[]
  /** others like the stage's devices, for calls that change them */
  alike(): Promise<Machine[]>
}

type Like = Pick<Machine, 'at' | 'groups' | 'lifecycle'>

/** All with four statements: there are many of them. */
async function machines({ owner }: World, likes: readonly Like[]): Promise<Machine[]> {
  const made = likes.map(({ at, groups, lifecycle }) => {
    const [id, commandId] = [crypto.randomUUID(), crypto.randomUUID()]
    return { id, commandId, hostname: `machine-${id.slice(-12)}`, at, groups, lifecycle }
  })
  const rows = made.flatMap(({ at, groups, ...one }) => ({ ...one, ...at, groups: [...groups] }))
  const given = owner`
    jsonb_to_recordset(${owner.json(rows)}) as x
      (id uuid, "commandId" uuid, hostname text, lifecycle text, "partnerId" uuid, "orgId" uuid, "siteId" uuid, groups jsonb)`
  await owner`
    insert into svc.devices (id, partner_id, org_id, site_id, hostname, os_type, lifecycle, enrolled_at)
    select id, "partnerId", "orgId", "siteId", hostname, 'linux', lifecycle, now() from ${given}`
  await owner`
    insert into svc.device_presence (device_id, partner_id, org_id) select id, "partnerId", "orgId" from ${given}`
  await owner`
    insert into svc.device_group_members (group_id, device_id, partner_id, org_id)
    select g::uuid, id, "partnerId", "orgId" from ${given}, jsonb_array_elements_text(groups) g`
  await owner`
    insert into svc.commands (id, partner_id, org_id, device_id, type, lane, args, status, issued_by, expires_at, timeout_ms)
    select "commandId", "partnerId", "orgId", id, 'list_processes', 'interactive', '{}', 'queued', 'system',
      now() + interval '1 day', 60000 from ${given}`
  return made
}

export async function makeStage(world: World): Promise<Stage> {
  const { make, people } = world
  const here = world.places.own
  const there = await make.site(here)
  const [one, other] = [await make.group(here), await make.group(here)]
  const likes: Like[] = [
    ...[here, there].flatMap((at) =>
      [[], [one], [other], [one, other]].map((groups) => ({ at, groups, lifecycle: 'active' as const })),
    ),
    { at: here, groups: [one], lifecycle: 'decommissioned' },
  ]
  const made = await machines(world, likes)
  const limits: Record<string, Limits> = {
    'limited to a site': { siteIds: [here.siteId] },
    'limited to a group': { deviceGroupIds: [one] },
    'limited to both': { siteIds: [here.siteId], deviceGroupIds: [one] },
    'limited to a group that is gone': { deviceGroupIds: [crypto.randomUUID()] },
  }
  const limited: Limited[] = []
  for (const [name, its] of Object.entries(limits))
    limited.push({ name, limits: its, person: await people.orgMember(here, its) })
  const things = await world.things('own')
  await writeLog(world, things, [one, other], made)
  await writeAudit(world, made)
  const alike = () => machines(world, likes)
  return { world, sites: [here, there], groups: [one, other], things, machines: made, limited, alike }
}

/** Takes every device out of its group and adds it again: the log has rows of each. */
async function writeLog(world: World, things: Things, groups: string[], machines: readonly Machine[]) {
  const caller = { person: await world.people.orgMember(world.places.own) }
  for (const deviceGroup of groups) {
    const ids = machines.filter((machine) => machine.groups.includes(deviceGroup)).map(({ id }) => id)
    for (const device of ids) {
      const swap = { deviceGroup, device }
      await call(world, 'DELETE /groups/:id/devices/:deviceId', { caller, things, swap })
    }
    const body = { deviceIds: ids }
    await call(world, 'POST /groups/:id/devices', { caller, things, swap: { deviceGroup }, body })
  }
}

/** Of each device, that something was done to it, and that somebody may do more: in January, as the samples ask. */
async function writeAudit({ owner }: World, machines: readonly Machine[]) {
  const rows = machines.flatMap(({ id, at: { partnerId, orgId } }) =>
    ['device.command.send', 'user.update'].map((action) => ({ id, partnerId, orgId, action })),
  )
  await owner`
    insert into svc.audit_log (id, at, partner_id, org_id, actor_type, actor_id, action, resource_type, resource_id, resource_name, result)
    select gen_random_uuid(), '2026-01-15T12:00:00Z', "partnerId", "orgId", 'user', gen_random_uuid(), action, 'device', id, 'entry', 'success'
    from jsonb_to_recordset(${owner.json(rows)}) as x ("partnerId" uuid, "orgId" uuid, action text, id uuid)`
}
