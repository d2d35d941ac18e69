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
    name: z.string(),
    tenantName: z.string().describe('The partner or organization that the login will be for'),
  })
  .meta({ id: 'InvitePreview', description: 'Whose an invitation is, and to what.' })
export type InvitePreview = z.output<typeof InvitePreview>

export const AcceptInvite = z
  .strictObject({ token: LinkToken, password: NewPassword })
  .meta({ id: 'AcceptInvite', examples: [{ token: 'svcl_…', password: 'correct horse battery staple' }] })
export type AcceptInvite = z.output<typeof AcceptInvite>
