import { currentCode } from '../../../../../tools/token/login.ts'
import { until } from '../../harness/until.ts'
import type { Stage } from '../stage.ts'
import { chosenToken } from '../canaries.ts'
import { bearerOf, logIn, noteTokens, type Person, personOf, verify } from './login.ts'

/** The administrator of the demo logs in with both factors; they administer the platform as well. */
export async function adminLogsIn(stage: Stage): Promise<Person> {
  const { system, canaries } = stage
  const { email, password, totpSecret } = system.tenant
  const [user] = await system.sql<{ id: string }[]>`
    update users set platform_admin = true where email = ${email} returning id`
  const first = await logIn(stage, { email, password })
  const code = canaries.code('TOTP code', currentCode(totpSecret), [user?.id ?? '', email])
  return personOf({ email, password }, await verify(stage, email, first, code))
}

/** Refreshes by body, by body with a key that makes the answer be kept, and by cookie. */
export async function refreshes(stage: Stage, person: Person): Promise<Person> {
  const { client, canaries, system } = stage
  const key = canaries.choose('Idempotency-Key', 'of a refresh', chosenToken)
  const kept = { body: { refreshToken: person.refreshToken }, headers: { 'Idempotency-Key': key } }
  const byBody = await client.want(200, 'POST', '/auth/refresh', kept)
  noteTokens(stage, 'refreshed by body', byBody)
  await client.want(200, 'POST', '/auth/refresh', kept)
  const csrf = person.cookies['svc_csrf_token'] ?? ''
  const byCookie = await client.want(200, 'POST', '/auth/refresh', {
    headers: {
      Cookie: `svc_refresh_token=${String(byBody.json['refreshToken'])}; svc_csrf_token=${csrf}`,
      'X-SVC-CSRF': csrf,
      Origin: system.apiUrl,
    },
  })
  noteTokens(stage, 'refreshed by cookie', byCookie)
  return personOf(person, byCookie)
}

const mailed = async ({ mail }: Stage, address: string, unlike?: string): Promise<string> => {
  await until(`${address} has a mail`, () => ![undefined, unlike].includes(mail.tokenFor(address)), 15_000)
  return mail.tokenFor(address) ?? ''
}

/** Registers, forgets the password and chooses another one; a further link is never used. */
export async function registersAndForgets(stage: Stage): Promise<void> {
  const { client, canaries } = stage
  const email = 'forgetful@provider.example'
  const password = canaries.choose('password', 'registered')
  await client.want(201, 'POST', '/auth/register', { body: { email, password, name: 'Fay' } })
  await stage.system.sql`update users set status = 'active' where email = ${email}`
  await client.want(200, 'POST', '/auth/forgot-password', { body: { email } })
  const token = canaries.shown('token of a link', 'that was used', await mailed(stage, email))
  const chosen = canaries.choose('password', 'chosen by a link')
  await client.want(204, 'POST', '/auth/reset-password', { body: { token, password: chosen } })
  await client.want(200, 'POST', '/auth/forgot-password', { body: { email } })
  canaries.shown('token of a link', 'that waits', await mailed(stage, email, token))
  // An account of no tenant: told so, with the right password alone.
  await client.want(403, 'POST', '/auth/login', { body: { email, password: chosen } })
}

/** Registers a partner, sets a second factor up, changes the password, logs in with a recovery code and has new ones made. */
export async function foundsPartner(stage: Stage): Promise<Person> {
  const { client, canaries, system } = stage
  const email = 'founder@provider.example'
  const first = canaries.choose('password', 'of a partner')
  await client.want(201, 'POST', '/auth/register-partner', {
    body: { companyName: 'Founders', email, password: first, name: 'Flo' },
  })
  const begun = await logIn(stage, { email, password: first })
  const setup = await client.want(200, 'POST', '/auth/mfa/setup', {
    headers: bearerOf(begun.json['accessToken']),
  })
  noteTokens(stage, 'set up', setup)
  const [user] = await system.sql<{ id: string }[]>`select id from users where email = ${email}`
  const code = canaries.code('TOTP code', currentCode(String(setup.json['secret'])), [user?.id ?? '', email])
  const enabled = await client.want(200, 'POST', '/auth/mfa/enable', {
    body: { code },
    headers: bearerOf(begun.json['accessToken']),
  })
  noteTokens(stage, 'enabled', enabled)
  const password = canaries.choose('password', 'changed')
  const changed = await client.want(200, 'POST', '/auth/change-password', {
    body: { currentPassword: first, newPassword: password },
    headers: bearerOf(enabled.json['accessToken']),
  })
  noteTokens(stage, 'after the change', changed)
  const [recovery = ''] = enabled.json['recoveryCodes'] as string[]
  const person = personOf(
    { email, password },
    await verify(stage, email, await logIn(stage, { email, password }), recovery),
  )
  const rotated = await client.want(200, 'POST', '/auth/mfa/recovery-codes', {
    body: {},
    headers: person.bearer,
  })
  noteTokens(stage, 'made anew', rotated)
  return person
}

/** Is invited into the organization, chooses a password, and has codes sent: to prove a number, and at login. */
export async function isInvited(stage: Stage, admin: Person): Promise<Person> {
  const { client, canaries, sms, system } = stage
  const email = 'invited@customer.example'
  await invite(stage, admin, email)
  const token = canaries.shown('token of a link', 'of an invitation', await mailed(stage, email))
  await client.want(200, 'POST', '/auth/invite/preview', { body: { token } })
  const password = canaries.choose('password', 'of an invited one')
  const accepted = await client.want(200, 'POST', '/auth/accept-invite', { body: { token, password } })
  noteTokens(stage, email, accepted)
  const phoneNumber = '+4915112345678'
  await client.want(200, 'POST', '/auth/phone/verify', {
    body: { phoneNumber, currentPassword: password },
    headers: bearerOf(accepted.json['accessToken']),
  })
  const [user] = await system.sql<{ id: string }[]>`select id from users where email = ${email}`
  const salts = [user?.id ?? '', phoneNumber, `phone:${user?.id}:${phoneNumber}`]
  const code = canaries.code('SMS code', sms.codeFor(phoneNumber), salts)
  await client.want(200, 'POST', '/auth/phone/confirm', {
    body: { code },
    headers: bearerOf(accepted.json['accessToken']),
  })
  const enabled = await client.want(200, 'POST', '/auth/mfa/sms/enable', {
    headers: bearerOf(accepted.json['accessToken']),
  })
  noteTokens(stage, 'by text message', enabled)
  const first = await logIn(stage, { email, password })
  await client.want(200, 'POST', '/auth/mfa/sms/send', { body: { tempToken: first.json['tempToken'] } })
  const sent = canaries.code('SMS code', sms.codeFor(phoneNumber), [
    ...salts,
    String(first.json['tempToken']),
  ])
  return personOf({ email, password }, await verify(stage, email, first, sent))
}

/** Who may look at the organization, and nothing more. */
export async function invite({ client, system }: Stage, admin: Person, email: string): Promise<void> {
  const { organizationId } = system.tenant
  const { json } = await client.want(200, 'GET', `/roles?orgId=${organizationId}`, { headers: admin.bearer })
  const role = json.data?.find(({ name }) => name === 'Organization Viewer')
  const body = { email, name: 'Ivy', roleId: role?.['id'] }
  await client.want(201, 'POST', '/users/invite', { body, headers: admin.bearer })
}
