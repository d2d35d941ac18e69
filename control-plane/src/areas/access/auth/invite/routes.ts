import { route } from '../../../../kernel/route.ts'
import { LoginAnswer } from '../login/schema.ts'
import { AcceptInvite, InvitePreview, PreviewInvite } from './schema.ts'
import { acceptInvite, checkAcceptance, previewInvite } from './service.ts'

export default [
  route('POST /auth/invite/preview', {
    summary: 'Whose an invitation is, and to what; the link stays good',
    can: 'public',
    limit: 'invite-link',
    audit: { none: 'reads what the link says and changes nothing' },
    body: PreviewInvite,
    returns: InvitePreview,
    run: previewInvite,
  }),
  route('POST /auth/accept-invite', {
    summary: 'Choose a password by the link of an invitation, and be logged in',
    can: 'public',
    limit: 'invite-link',
    audit: 'user.invite.accept',
    body: AcceptInvite,
    returns: LoginAnswer,
    prepare: checkAcceptance,
    run: acceptInvite,
  }),
]
