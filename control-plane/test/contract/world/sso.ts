import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import type { Ceremony } from './ceremonies.ts'

const browser = 'b'.repeat(43)
/** The cookie of the browser that a code was given to. */
export const browserCookie = `svc_sso=${browser}`

/** A code of a member of an organization of its own, whose provider is active. */
export const ssoCode: Ceremony = async ({ world: { make, owner } }) => {
  const org = await make.org()
  const { id } = await make.user()
  await make.orgMember({ ...org, userId: id, roleId: await make.role(org, []) })
  const provider = await make.ssoProvider(org, { status: 'active' })
  const code = `svcs_${randomBytes(32).toString('base64url')}`
  await owner`
    insert into svc.sso_codes (code_hash, user_id, provider_id, browser_hash, mfa, expires_at)
    values (${tokenHash(code)}, ${id}, ${provider}, ${tokenHash(browser)}, false, now() + interval '1 minute')`
  return { code }
}
