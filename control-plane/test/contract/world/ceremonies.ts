import { generate } from 'otplib'
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

/** The token of the link that somebody without an account was mailed. */
async function invitation({ make, places }: World): Promise<string> {
  return (await make.invitation({ ...places.own, roleId: await make.role(places.own, []) })).token
}

export const previewInvite: Ceremony = async ({ world }) => ({ token: await invitation(world) })

export const acceptInvite: Ceremony = async ({ world }) => ({
  token: await invitation(world),
  password: 'seven green bottles hanging',
})
