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
    summary: 'Accept an invitation by its link: with a new password, the account’s own, or its login',
    can: 'public',
    limit: ['invite-link', 'login-address'],
    audit: 'user.invite.accept',
    body: AcceptInvite,
    returns: LoginAnswer,
    prepare: checkAcceptance,
    run: acceptInvite,
  }),
]
