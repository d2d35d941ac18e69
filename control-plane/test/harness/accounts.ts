import { generate } from 'otplib'
import { totpPlace } from '../../src/areas/access/auth/mfa/proof.ts'
import { makeRecoveryCodes, recoveryCodeHash } from '../../src/areas/access/auth/mfa/recovery-codes.ts'
import type { Permission } from '../../src/kernel/permissions.ts'
import type { Answer, TestApp } from './app.ts'
import type { Person } from './people.ts'

/** A user who logs in as people do: with a password and perhaps an authenticator. */
export interface Account {
  userId: string
  email: string
  password: string
  partnerId: string
  orgId: string | undefined
  /** base32; undefined: no authenticator */
  totpSecret: string | undefined
  recoveryCodes: string[]
}

export interface AccountOptions {
  /** default: the partner's administrator; `org`: a member of one organization; `none`: of nothing */
  member?: 'partner' | 'org' | 'none'
  access?: 'all' | 'none' | string[]
  permissions?: (Permission | '*:*')[]
  totp?: boolean
  forceMfa?: boolean
  status?: string
  partnerId?: string
  partnerStatus?: string
  passwordHash?: string
}

/** Parsed `set-cookie` headers by name. */
export type Cookies = Record<string, { value: string; attributes: string }>

export interface LoggedIn {
  accessToken: string
  refreshToken: string
  cookies: Cookies
  body: Answer['body']
}

const password = 'correct horse battery staple'

export const cookiesOf = ({ headers }: Answer): Cookies =>
  Object.fromEntries(
    [headers['set-cookie'] ?? []].flat().map((line) => {
      const [, name = '', value = '', attributes = ''] = /^([^=]+)=([^;]*)(.*)$/.exec(String(line)) ?? []
      return [name, { value, attributes }]
    }),
  )

/** What an access token says, unchecked. */
export const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

/** Accounts of one test file, and how they log in. */
export function accountsOf(t: TestApp) {
  let address = 0
  /** No test is to run into another's limits. */
  const nextAddress = () => `10.0.${address >> 8}.${address++ & 255}`
  let hashed: Promise<string> | undefined

  async function enrolTotp(userId: string) {
    const totpSecret = t.core.ports.totp.secret()
    const recoveryCodes = makeRecoveryCodes()
    const sealed = t.core.ports.secrets.seal(totpSecret, totpPlace(userId))
    const hashes = recoveryCodes.map((code) => recoveryCodeHash(userId, code))
    await t.db.tx(
      (tx) => tx.run`
      update users set mfa_method = 'totp', totp_secret = ${sealed}, recovery_code_hashes = ${tx.sql.array(hashes)}
      where id = ${userId}`,
    )
    return { totpSecret, recoveryCodes }
  }

  async function account(options: AccountOptions = {}): Promise<Account> {
    const { member = 'partner', permissions = ['*:*'], forceMfa = false, status = 'active' } = options
    const passwordHash = options.passwordHash ?? (await (hashed ??= t.core.ports.passwords.hash(password)))
    const partnerId =
      options.partnerId ?? (await t.make.partner({ status: options.partnerStatus ?? 'active' }))
    const user = await t.make.user({ status, passwordHash })
    const org = member === 'org' ? await t.make.org(partnerId) : undefined
    if (org) {
      const roleId = await t.make.role(org, permissions, { forceMfa })
      await t.make.orgMember({ ...org, userId: user.id, roleId })
    }
    if (member === 'partner') {
      const roleId = await t.make.role({ partnerId }, permissions, { forceMfa })
      await t.make.partnerMember({ userId: user.id, partnerId, roleId }, options.access)
    }
    const factor = options.totp ? await enrolTotp(user.id) : { totpSecret: undefined, recoveryCodes: [] }
    return { userId: user.id, email: user.email, password, partnerId, orgId: org?.orgId, ...factor }
  }

  /** The code that an authenticator shows now, or so many seconds from now. */
  const code = ({ totpSecret }: Pick<Account, 'totpSecret'>, secondsAhead = 0) =>
    generate({ secret: totpSecret ?? '', epoch: Math.floor(t.clock.now().getTime() / 1_000) + secondsAhead })

  const logIn = (
    who: Pick<Account, 'email' | 'password'>,
    more: { remoteAddress?: string; headers?: Record<string, string> } = {},
  ) =>
    t.request('POST /auth/login', null, {
      remoteAddress: nextAddress(),
      ...more,
      body: { email: who.email, password: who.password },
    })

  const verify = (body: Record<string, unknown>, as?: Person) =>
    t.request('POST /auth/mfa/verify', as, { body, remoteAddress: nextAddress() })

  /** Both steps, with a code that was not used before. */
  async function logInFully(who: Account): Promise<LoggedIn> {
    const first = await logIn(who)
    if (!first.body.mfaRequired) return session(first)
    t.clock.advance(30_000)
    return session(await verify({ tempToken: first.body.tempToken, code: await code(who) }))
  }

  function session(answer: Answer): LoggedIn {
    if (answer.status !== 200) throw new Error(`the login was refused: ${JSON.stringify(answer.body)}`)
    const { accessToken, refreshToken } = answer.body
    return { accessToken, refreshToken, cookies: cookiesOf(answer), body: answer.body }
  }

  /** Whoever holds an access token, as a {@link Person} of the harness. */
  const person = (who: Account, accessToken: string): Person => ({
    userId: who.userId,
    email: who.email,
    sessionId: String(claimsOf(accessToken)['sid']),
    token: async () => accessToken,
  })

  const auditOf = (userId: string, action: string) =>
    t.db.rows<{
      result: string
      details: Record<string, unknown>
      partnerId: string | null
      orgId: string | null
      actorId: string | null
    }>`
      select result, details, partner_id, org_id, actor_id from audit_log
      where resource_id = ${userId} and action = ${action} order by at, id`

  return { account, code, logIn, verify, logInFully, person, auditOf, nextAddress }
}
