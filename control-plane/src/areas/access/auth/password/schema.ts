import { z } from 'zod'
import { LinkToken } from '../links/service.ts'
import { Email } from '../login/schema.ts'
import { NewPassword } from './policy.ts'

/** No rule about its form: whatever was set must be accepted, and what was not is merely wrong. */
export const CurrentPassword = z.string().min(1).max(1_024).describe('At most 1,024 characters')

export const ForgotPassword = z
  .strictObject({ email: Email.describe('At most 255 characters, in any case') })
  .meta({ id: 'ForgotPassword', examples: [{ email: 'ann@provider.example' }] })
export type ForgotPassword = z.output<typeof ForgotPassword>

/** Says nothing about whether there is such an account. */
export const Accepted = z
  .object({ accepted: z.literal(true).describe('Mail was sent if there is anybody to send it to') })
  .meta({ id: 'Accepted', description: 'The same answer whether there is such an account or not.' })
export type Accepted = z.output<typeof Accepted>

export const ResetPassword = z
  .strictObject({ token: LinkToken, password: NewPassword })
  .meta({ id: 'ResetPassword', examples: [{ token: 'svcl_…', password: 'correct horse battery staple' }] })
export type ResetPassword = z.output<typeof ResetPassword>

export const ChangePassword = z
  .strictObject({ currentPassword: CurrentPassword, newPassword: NewPassword })
  .meta({
    id: 'ChangePassword',
    examples: [{ currentPassword: 'the old one', newPassword: 'correct horse battery staple' }],
  })
export type ChangePassword = z.output<typeof ChangePassword>
