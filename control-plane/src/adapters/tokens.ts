import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { Clock } from './clock.ts'
import type { KeySet } from './keys.ts'

/** The partner or organization that a login is for; null: the user belongs to none. */
const TokenMembership = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('partner'), id: z.uuid() }),
    z.strictObject({ kind: z.literal('organization'), id: z.uuid(), partnerId: z.uuid() }),
  ])
  .nullable()

const Claims = z.object({
  sub: z.uuid(),
  sid: z.uuid(),
  aep: z.number().int(),
  mfa: z.boolean(),
  amr: z.array(z.string()),
  mem: TokenMembership,
  /** the provider of a login by single sign-on, and whether its second factor counts */
  sso: z.strictObject({ idp: z.uuid(), mfa: z.boolean() }).optional(),
  iat: z.number().int(),
  exp: z.number().int(),
})

/** What an access token says. Permissions are not in it: they are looked up, so that taking one away acts at once. */
export interface AccessClaims {
  userId: string
  /** the refresh family: one login */
  sessionId: string
  /** `users.auth_epoch` at issue: raised by logout, disabling, a password change */
  authEpoch: number
  /** a second factor was checked in this login */
  mfa: boolean
  /** RFC 8176: how the user proved who they are, such as `pwd`, `otp` */
  amr: readonly string[]
  membership: z.infer<typeof TokenMembership>
  /** absent: the login came by password */
  sso?: { providerId: string; mfa: boolean } | undefined
}

export interface VerifiedAccess extends AccessClaims {
  issuedAt: Date
  expiresAt: Date
}

export interface IssuedAccess {
  accessToken: string
  expiresAt: Date
  expiresInSeconds: number
}

/** Access tokens: JWT (RFC 9068 `at+jwt`), EdDSA, 15 minutes. */
export interface Tokens {
  issue(claims: AccessClaims): Promise<IssuedAccess>
  /** @throws Error for anything that is not a living token of ours */
  verify(token: string): Promise<VerifiedAccess>
}

const lifetimeSeconds = 15 * 60
/** Between two of our servers' clocks. */
const skewSeconds = 5
/** jose sets no limit; a token of ours is under 1 KiB. */
const maxTokenBytes = 4_096
const type = 'at+jwt'

/** @param origin PUBLIC_URL: issuer and audience, so that a token of one installation is good for no other */
export function tokensOf(keys: KeySet, origin: string, clock: Clock): Tokens {
  const audience = `${origin}/api`
  const keyOf = (kid: string | undefined) => {
    const pair = kid === undefined ? undefined : keys.find(kid)
    if (!pair) throw new Error('unknown key')
    return pair.publicKey
  }
  return {
    async issue({ userId, sessionId, authEpoch, mfa, amr, membership, sso }) {
      const { id, privateKey } = keys.current()
      const issued = Math.floor(clock.now().getTime() / 1_000)
      const accessToken = await new SignJWT({
        sid: sessionId,
        aep: authEpoch,
        mfa,
        amr: [...amr],
        mem: membership,
        ...(sso && { sso: { idp: sso.providerId, mfa: sso.mfa } }),
      })
        .setProtectedHeader({ alg: 'EdDSA', typ: type, kid: id })
        .setIssuer(origin)
        .setAudience(audience)
        .setSubject(userId)
        .setIssuedAt(issued)
        .setExpirationTime(issued + lifetimeSeconds)
        .sign(privateKey)
      return {
        accessToken,
        expiresAt: new Date((issued + lifetimeSeconds) * 1_000),
        expiresInSeconds: lifetimeSeconds,
      }
    },
    async verify(token) {
      if (token.length > maxTokenBytes) throw new Error('token too long')
      const { payload } = await jwtVerify(token, ({ kid }) => keyOf(kid), {
        algorithms: ['EdDSA'],
        typ: type,
        issuer: origin,
        audience,
        clockTolerance: skewSeconds,
        maxTokenAge: lifetimeSeconds,
        currentDate: clock.now(),
        requiredClaims: ['sub', 'sid', 'exp', 'iat', 'amr'],
      })
      const claims = Claims.parse(payload)
      return {
        userId: claims.sub,
        sessionId: claims.sid,
        authEpoch: claims.aep,
        mfa: claims.mfa,
        amr: claims.amr,
        membership: claims.mem,
        ...(claims.sso && { sso: { providerId: claims.sso.idp, mfa: claims.sso.mfa } }),
        issuedAt: new Date(claims.iat * 1_000),
        expiresAt: new Date(claims.exp * 1_000),
      }
    },
  }
}
