import type { AccessClaims } from '../../src/adapters/tokens.ts'
import type { Permission } from '../../src/kernel/permissions.ts'
import type { Ports } from '../../src/kernel/ports.ts'
import type { Make, Org } from './make.ts'

type Permissions = readonly (Permission | '*:*')[]

/** A user with a login, as requests are made by. */
export interface Person {
  userId: string
  email: string
  sessionId: string
  /** a fresh access token, as a login issues it */
  token(claims?: Partial<AccessClaims>): Promise<string>
}

export interface PersonOptions {
  /** default: `*:*` */
  permissions?: Permissions
  forceMfa?: boolean
  /** when a second factor was checked; default: just now. Null: never */
  mfaAt?: Date | null
}

/** People of the usual kinds; each call makes a new one, with a role of its own. */
export function peopleFor(make: Make, ports: Ports) {
  async function login(
    userId: string,
    email: string,
    membership: AccessClaims['membership'],
    options: PersonOptions,
  ): Promise<Person> {
    const mfaAt = options.mfaAt === null ? undefined : (options.mfaAt ?? ports.clock.now())
    const sessionId = await make.session(userId, mfaAt ? { mfaAt } : {})
    const usual = { userId, sessionId, authEpoch: 1, mfa: mfaAt !== undefined, amr: ['pwd'], membership }
    return {
      userId,
      email,
      sessionId,
      token: async (claims) => (await ports.tokens.issue({ ...usual, ...claims })).accessToken,
    }
  }

  /** @param access `all`, `none`, or the organizations of `orgAccess: selected` */
  async function partnerMember(
    partnerId: string,
    access: 'all' | 'none' | readonly string[],
    options: PersonOptions = {},
  ) {
    const { id, email } = await make.user()
    const roleId = await make.role({ partnerId }, options.permissions ?? ['*:*'], {
      forceMfa: options.forceMfa ?? false,
    })
    await make.partnerMember({ userId: id, partnerId, roleId }, access)
    return login(id, email, { kind: 'partner', id: partnerId }, options)
  }

  async function orgMember(
    org: Org,
    options: PersonOptions & { siteIds?: string[]; deviceGroupIds?: string[] } = {},
  ) {
    const { id, email } = await make.user()
    const roleId = await make.role(org, options.permissions ?? ['*:*'], {
      forceMfa: options.forceMfa ?? false,
    })
    await make.orgMember({ ...org, userId: id, roleId }, options)
    return login(id, email, { kind: 'organization', id: org.orgId, partnerId: org.partnerId }, options)
  }

  return {
    /** every organization of a partner, every permission */
    partnerAdmin: (partnerId: string, options?: PersonOptions) => partnerMember(partnerId, 'all', options),
    partnerMember,
    orgMember,
    /** reads devices, organizations and sites of one organization */
    orgViewer: (org: Org) =>
      orgMember(org, { permissions: ['devices:read', 'organizations:read', 'sites:read'] }),
    /** a member without any permission */
    powerless: (org: Org) => orgMember(org, { permissions: [] }),
    /** an account that belongs to nothing */
    stray: async () => {
      const { id, email } = await make.user()
      return login(id, email, null, {})
    },
    platformAdmin: async () => {
      const { id, email } = await make.user({ platformAdmin: true })
      return login(id, email, null, {})
    },
  }
}

export type People = ReturnType<typeof peopleFor>
