import { generate } from 'otplib'
import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import type { Person } from '../../harness/people.ts'
import type { Things, World } from './things.ts'

/** What a ceremony may use. `person`: who will call, where that is a user. */
export interface Stage {
  world: World
  things: Things
  person: Person | undefined
}

/** Does what must come before a request, and makes its body. */
export type Ceremony = (stage: Stage) => Promise<Record<string, unknown> | undefined>

export const logIn: Ceremony = async ({ world: { accounts } }) => {
  const { email, password } = await accounts.account()
  return { email, password }
}

export const refresh: Ceremony = async ({ world: { accounts } }) => {
  const { refreshToken } = await accounts.logInFully(await accounts.account())
  return { refreshToken }
}

/** The first code of an account is one that it has not used. */
export const verifyMfa: Ceremony = async ({ world: { accounts } }) => {
  const account = await accounts.account({ totp: true })
  const { body } = await accounts.logIn(account)
  return { tempToken: body.tempToken, code: await accounts.code(account) }
}

export const setUpMfa: Ceremony = async () => undefined

export const enableMfa: Ceremony = async ({ world, person }) => {
  const begun = person && (await world.request('POST /auth/mfa/setup', person))
  if (begun?.status !== 200) return { code: '000000' }
  const epoch = Math.floor(world.clock.now().getTime() / 1_000)
  return { code: await generate({ secret: begun.body.secret, epoch }) }
}

export const enroll: Ceremony = async ({ things }) => ({
  enrollmentKey: things.enrollmentSecret,
  hostname: 'new-machine',
  osType: 'linux',
  architecture: 'x64',
  agentVersion: '1.0.0',
})

/** The token of the link that a member of nothing but this partner was mailed. */
async function invitation(world: World): Promise<string> {
  const { make, owner, places } = world
  const { id } = await make.user({ status: 'invited' })
  await make.orgMember({ ...places.own, userId: id, roleId: await make.role(places.own, []) })
  const token = `svcl_${randomBytes(32).toString('base64url')}`
  await owner`
    insert into svc.user_tokens (user_id, purpose, token_hash, created_at, expires_at)
    values (${id}, 'invite', ${tokenHash(token)}, now(), now() + interval '7 days')`
  return token
}

export const previewInvite: Ceremony = async ({ world }) => ({ token: await invitation(world) })

export const acceptInvite: Ceremony = async ({ world }) => ({
  token: await invitation(world),
  password: 'seven green bottles hanging',
})
