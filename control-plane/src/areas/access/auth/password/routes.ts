import { route } from '../../../../kernel/route.ts'
import { TokenPair } from '../session/schema.ts'
import { changePassword, checkChange } from './change.ts'
import { forgotPassword, mayMail } from './forgot.ts'
import { checkReset, resetPassword } from './reset.ts'
import { Accepted, ChangePassword, ForgotPassword, ResetPassword } from './schema.ts'

export default [
  route('POST /auth/forgot-password', {
    summary: 'Mail a link for a new password, if there is such an account; it lives an hour',
    can: 'public',
    limit: 'forgot-password',
    audit: { none: 'anybody may ask for anybody; what comes of it is audited when the link is used' },
    idempotent: false,
    body: ForgotPassword,
    returns: Accepted,
    prepare: mayMail,
    run: forgotPassword,
  }),
  route('POST /auth/reset-password', {
    summary: 'Choose a new password with the token of a mailed link; ends all sessions',
    can: 'public',
    limit: 'reset-password',
    audit: 'user.password.reset',
    idempotent: false,
    body: ResetPassword,
    prepare: checkReset,
    run: resetPassword,
  }),
  route('POST /auth/change-password', {
    summary: 'Change the password; all tokens die, and this login goes on with those of the answer',
    can: 'signed-in',
    audit: 'user.password.change',
    idempotent: false,
    body: ChangePassword,
    returns: TokenPair,
    prepare: checkChange,
    run: changePassword,
  }),
]
