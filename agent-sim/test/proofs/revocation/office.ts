import { buildControlPlane, readConfig } from '@svc/control-plane'
import { MemoryBus } from '@svc/proto/bus'
import { pino } from 'pino'
import { type Make, makeFor, type Org } from '../../../../control-plane/test/harness/make.ts'
import { type People, peopleFor, type Person } from '../../../../control-plane/test/harness/people.ts'
import { Api } from '../../system/harness/api.ts'
import type { System } from '../../system/harness/system.ts'
import { reading } from './ask.ts'

/** Makes tenants, people and keys as rows, and logins that every control plane of the system takes. */
export interface Office {
  make: Make
  people: People
  /** A member of the organization, who reads devices and is logged in to it. */
  memberOf: (org: Org) => Promise<Person>
  /** Another role for a member. */
  give: (org: Org, userId: string, roleId: string) => Promise<void>
  /** Somebody at each of these control planes. */
  at: (urls: readonly string[], who: Person) => Promise<Api[]>
  close: () => Promise<void>
}

/** @param system whose programs are up: its database and keys are there */
export async function openOffice(system: System): Promise<Office> {
  const config = readConfig({ ...system.environment, REDIS_URL: '' })
  const logger = pino({ level: 'silent' })
  const plane = await buildControlPlane({ config, bus: new MemoryBus(), logger })
  const { sql } = system
  const make = makeFor(plane.db, sql)
  const people = peopleFor(make, plane.ports)
  return {
    make,
    people,
    memberOf: async (org) => {
      const member = await people.orgMember(org, { permissions: reading })
      await sql`
        update refresh_families set partner_id = ${org.partnerId}, org_id = ${org.orgId} where id = ${member.sessionId}`
      return member
    },
    give: async ({ orgId }, userId, roleId) => {
      await sql`update organization_memberships set role_id = ${roleId} where org_id = ${orgId} and user_id = ${userId}`
    },
    at: async (urls, who) => {
      const token = await who.token()
      return urls.map((url) => new Api(url, token))
    },
    close: () => plane.close(),
  }
}
