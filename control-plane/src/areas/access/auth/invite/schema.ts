import { z } from 'zod'
import { LinkToken } from '../links/service.ts'
import { NewPassword } from '../password/policy.ts'

export const PreviewInvite = z
  .strictObject({ token: LinkToken })
  .meta({ id: 'PreviewInvite', examples: [{ token: 'svcl_…' }] })
export type PreviewInvite = z.output<typeof PreviewInvite>

export const InvitePreview = z
  .object({
    email: z.string(),
    name: z.string().describe('As the invitation has it'),
    tenantName: z.string().describe('The partner or organization that the invitation is to'),
    accountKnown: z
      .boolean()
      .describe('True: it takes the account’s own password, or a login of it; false: a password is chosen'),
  })
  .meta({ id: 'InvitePreview', description: 'Whose an invitation is, and to what.' })
export type InvitePreview = z.output<typeof InvitePreview>

export const AcceptInvite = z
  .strictObject({
    token: LinkToken,
    password: NewPassword.optional().describe(
      'Of an account that the address has: its own, which a login of it makes unneeded. Else a new one: 8 to 256 characters, more where the tenant asks for it, and not easily guessed',
    ),
  })
  .meta({
    id: 'AcceptInvite',
    examples: [{ token: 'svcl_…', password: 'correct horse battery staple' }, { token: 'svcl_…' }],
  })
export type AcceptInvite = z.output<typeof AcceptInvite>
