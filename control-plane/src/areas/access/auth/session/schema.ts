import { z } from 'zod'

/** The caller's own account (interface §User), as login and `GET /auth/me` show it. */
export const Account = z
  .object({ id: z.uuid(), email: z.string(), name: z.string(), avatarUrl: z.string().nullable() })
  .meta({ id: 'Account', description: 'The caller’s own account.' })
export type Account = z.output<typeof Account>

/** Access and refresh token. `expiresInSeconds` is the access token's life. */
export const TokenPair = z
  .object({
    accessToken: z.string().describe('For `Authorization: Bearer`'),
    refreshToken: z.string().describe('For the next refresh; the one before is dead'),
    expiresInSeconds: z.int().describe('Life of the access token'),
  })
  .meta({ id: 'TokenPair', description: 'Access and refresh token.' })
export type TokenPair = z.output<typeof TokenPair>

/** The token comes in the body or, when there is no body, in the cookie. */
export const Refresh = z
  .strictObject({
    refreshToken: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('Left out: the cookie `svc_refresh_token` is used, with header `x-svc-csrf`'),
  })
  .meta({ id: 'Refresh', examples: [{ refreshToken: 'svcr_…' }, {}] })
  .optional()
export type Refresh = z.output<typeof Refresh>

export const UserStatus = z.enum(['active', 'invited', 'disabled'])

/** What an account says of its factors and its times, to itself and to its tenants (interface §User). */
export const accountFacts = {
  mfaEnabled: z.boolean(),
  mfaMethod: z.enum(['totp', 'sms']).nullable(),
  phoneVerified: z.boolean(),
  phoneLast4: z.string().nullable(),
  lastLoginAt: z.date().nullable(),
  passwordChangedAt: z.date().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
}

export const Me = z
  .object({
    user: Account.extend({ status: UserStatus, ...accountFacts }),
    permissions: z.array(z.string()).describe('`resource:action`; `*:*` is all'),
    platformAdmin: z.boolean().describe('Administers the platform itself'),
    mfaEnrollmentRequired: z
      .boolean()
      .describe('Most endpoints answer 428 until a TOTP authenticator is enrolled'),
  })
  .meta({ id: 'Me', description: 'Who is asking, and what they may do.' })
export type Me = z.output<typeof Me>
