import type { Site } from '../../../../control-plane/test/harness/make.ts'
import type { Api } from '../../system/harness/api.ts'
import { asUser, done, enrolling, reading, withKey } from './ask.ts'
import type { Office } from './office.ts'
import type { Asking } from './requests.ts'

/** Something that is revoked: who feels it, and how it is done. */
export interface Case {
  asking: Asking
  /** @param admin at one of the control planes; resolves when the revocation is answered */
  act: (admin: Api) => Promise<unknown>
}

export interface Place {
  office: Office
  /** where all of this happens; its people are judged by what they may do there */
  home: Site
}

/** A user whose right to read comes from the parent of their role. */
async function heir({ office: { make, memberOf }, home }: Place) {
  const parentRoleId = await make.role(home, reading)
  const roleId = await make.role(home, [], { parentRoleId })
  const user = await memberOf(home)
  return { user, roleId, parentRoleId }
}

const member = ({ office, home }: Place) => office.memberOf(home)

/** An API key under a membership in the organization. */
async function keyOf(place: Place) {
  const owner = await member(place)
  const { make } = place.office
  const key = await make.apiKey({ ...place.home, memberOrg: place.home.orgId, userId: owner.userId })
  return { owner, ...key }
}

const disable = (admin: Api, userId: string) =>
  done(admin, 'PATCH', `/users/${userId}`, { status: 'disabled' })

/** Every revocation of what a person or a key may do, apart from those of whole tenants. */
export const kinds: Record<string, (what: string, place: Place) => Promise<Case>> = {
  'a user who is disabled': async (what, place) => {
    const user = await member(place)
    return { asking: await asUser(what, user, 401), act: (admin) => disable(admin, user.userId) }
  },
  'a user whose membership ends': async (what, place) => {
    const user = await member(place)
    return {
      asking: await asUser(what, user, 401),
      act: (admin) => done(admin, 'DELETE', `/users/${user.userId}`),
    }
  },
  'a user who logs out': async (what, place) => {
    const user = await member(place)
    const authorization = `Bearer ${await user.token()}`
    return {
      asking: await asUser(what, user, 401),
      act: (admin) => done(admin, 'POST', '/auth/logout', undefined, { authorization }),
    }
  },
  'a user who gets another role, and theirs is deleted': async (what, place) => {
    const user = await member(place)
    const { make } = place.office
    const [roleId, lesser] = [await make.role(place.home, reading), await make.role(place.home, [])]
    await place.office.give(place.home, user.userId, roleId)
    const act = async (admin: Api) => {
      await done(admin, 'POST', `/users/${user.userId}/role`, { roleId: lesser })
      await done(admin, 'DELETE', `/roles/${roleId}`)
    }
    return { asking: await asUser(what, user, 403), act }
  },
  'a user whose role is changed': async (what, place) => {
    const user = await member(place)
    const roleId = await place.office.make.role(place.home, reading)
    await place.office.give(place.home, user.userId, roleId)
    return {
      asking: await asUser(what, user, 403),
      act: (admin) => done(admin, 'PATCH', `/roles/${roleId}`, { permissions: [] }),
    }
  },
  'a user whose role’s parent is changed': async (what, place) => {
    const { user, roleId, parentRoleId } = await heir(place)
    await place.office.give(place.home, user.userId, roleId)
    return {
      asking: await asUser(what, user, 403),
      act: (admin) => done(admin, 'PATCH', `/roles/${parentRoleId}`, { permissions: [] }),
    }
  },
  'a user whose role loses its parent': async (what, place) => {
    const { user, roleId } = await heir(place)
    await place.office.give(place.home, user.userId, roleId)
    return {
      asking: await asUser(what, user, 403),
      act: (admin) => done(admin, 'PATCH', `/roles/${roleId}`, { parentRoleId: null }),
    }
  },
  'an API key that is revoked': async (what, place) => {
    const { id, key } = await keyOf(place)
    return { asking: withKey(what, key), act: (admin) => done(admin, 'DELETE', `/api-keys/${id}`) }
  },
  'an API key that is rotated': async (what, place) => {
    const { id, key } = await keyOf(place)
    return { asking: withKey(what, key), act: (admin) => done(admin, 'POST', `/api-keys/${id}/rotate`) }
  },
  'an API key whose owner is disabled': async (what, place) => {
    const { owner, key } = await keyOf(place)
    return { asking: withKey(what, key), act: (admin) => disable(admin, owner.userId) }
  },
  'an enrollment key that is revoked': async (what, place) => {
    const { id, key } = await place.office.make.enrollmentKey(place.home, { maxUsage: null })
    return {
      asking: enrolling(what, key),
      act: (admin) => done(admin, 'DELETE', `/enrollment-keys/${id}`),
    }
  },
  'an enrollment key that is rotated': async (what, place) => {
    const { id, key } = await place.office.make.enrollmentKey(place.home, { maxUsage: null })
    return {
      asking: enrolling(what, key),
      act: (admin) => done(admin, 'POST', `/enrollment-keys/${id}/rotate`),
    }
  },
}
