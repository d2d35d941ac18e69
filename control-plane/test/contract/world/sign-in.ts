import { randomBytes, randomInt } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { codeHash, ownerOf } from '../../../src/areas/access/auth/phone/codes.ts'
import type { Ceremony, Stage } from './ceremonies.ts'

const password = 'turquoise walrus keeps time'
const code = '271828'
/** German numbers that no request before had. */
const nextNumber = () => `+49151${randomInt(10_000_000, 100_000_000)}`

export const forgetPassword: Ceremony = async ({ world }) => ({
  email: (await world.accounts.account()).email,
})

export const resetPassword: Ceremony = async ({ world }) => {
  const { userId } = await world.accounts.account()
  const token = `svcl_${randomBytes(32).toString('base64url')}`
  await world.owner`
    insert into svc.user_tokens (user_id, purpose, token_hash, created_at, expires_at)
    values (${userId}, 'reset_password', ${tokenHash(token)}, now(), now() + interval '1 hour')`
  return { token, password }
}

let hashed: Promise<string> | undefined

/** People of this world have no password until they need one. */
export const changePassword: Ceremony = async ({ world, person }) => {
  const hash = await (hashed ??= world.core.ports.passwords.hash('the old one'))
  if (person) await world.owner`update svc.users set password_hash = ${hash} where id = ${person.userId}`
  return { currentPassword: 'the old one', newPassword: password }
}

export const verifyPhone: Ceremony = async () => ({ phoneNumber: nextNumber() })

/** A code is on its way to a number: the caller's own from before, where text messages are their factor. */
async function sendCode({ world, person }: Stage, phone: string): Promise<void> {
  if (!person) return
  const hash = codeHash(world.core.ports.secrets, ownerOf.phone(person.userId, phone), code)
  await world.owner`
    insert into svc.phone_codes (user_id, phone_number, code_hash, expires_at)
    values (${person.userId}, ${phone}, ${hash}, now() + interval '10 minutes')
    on conflict (user_id) do update set phone_number = excluded.phone_number, code_hash = excluded.code_hash, attempts = 0`
}

export const confirmPhone: Ceremony = async (stage) => {
  await sendCode(stage, nextNumber())
  return { code }
}

/** The number is verified, and no factor yet. */
export const enableSms: Ceremony = async ({ world, person }) => {
  if (person)
    await world.owner`
      update svc.users set phone_number = ${nextNumber()}, phone_verified = true where id = ${person.userId}`
  return undefined
}

/** Text messages are the caller's factor: a role that forces MFA is not satisfied by them, so 428 can be told from the rest. */
export const smsCode: Ceremony = async (stage) => {
  const phone = nextNumber()
  if (stage.person)
    await stage.world.owner`
      update svc.users set mfa_method = 'sms', phone_number = ${phone}, phone_verified = true where id = ${stage.person.userId}`
  await sendCode(stage, phone)
  return { code }
}

export const smsLogin: Ceremony = async ({ world }) => {
  const account = await world.accounts.account()
  await world.owner`
    update svc.users set mfa_method = 'sms', phone_number = ${nextNumber()}, phone_verified = true
    where id = ${account.userId}`
  return { tempToken: (await world.accounts.logIn(account)).body.tempToken }
}
