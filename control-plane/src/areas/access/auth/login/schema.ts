import { z } from 'zod'
import { text } from '../../../../kernel/text.ts'
import { Account } from '../session/schema.ts'

/** Compared as stored: trimmed, lower case, composed. */
export const Email = text(255).transform((email) => email.normalize('NFKC').trim().toLowerCase())

/** No rule about the password's form here: whatever was set must be accepted, and what was not is merely wrong. */
export const Login = z
  .strictObject({
    email: Email.describe('At most 255 characters, in any case'),
    password: z.string().min(1).max(1_024).describe('At most 1,024 characters'),
  })
  .meta({
    id: 'Login',
    examples: [{ email: 'admin@provider.example', password: 'correct horse battery staple' }],
  })
export type Login = z.output<typeof Login>

/**
 * Without a second factor `user` and the tokens; with one `mfaRequired`, and a `tempToken` for `POST /auth/mfa/verify`, valid
 * 5 minutes (interface §Authentication 4 and 8).
 */
export const LoginAnswer = z
  .object({
    mfaRequired: z.boolean().describe('True: no tokens yet; send a code with `tempToken`'),
    user: Account.optional(),
    accessToken: z.string().optional().describe('For `Authorization: Bearer`'),
    refreshToken: z.string().optional().describe('For `POST /auth/refresh`; also set as a cookie'),
    expiresInSeconds: z.int().optional().describe('Life of the access token'),
    tempToken: z.string().optional().describe('For `POST /auth/mfa/verify`; lives 5 minutes'),
    mfaMethod: z.enum(['totp', 'sms']).optional().describe('Where the code comes from'),
  })
  .meta({
    id: 'LoginAnswer',
    description: 'The tokens; or, where a second factor is enrolled, `mfaRequired: true` and a `tempToken`.',
  })
export type LoginAnswer = z.output<typeof LoginAnswer>
