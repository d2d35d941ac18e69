import { route } from '../../../../kernel/route.ts'
import { answerRefresh, rotate } from './refresh.ts'
import { Me, Refresh, TokenPair } from './schema.ts'
import { logOut, whoAmI } from './service.ts'

export default [
  route('POST /auth/refresh', {
    summary: 'Rotate the token pair; the token comes in the body or in the cookie',
    can: 'public',
    reserved: true,
    limit: 'refresh',
    audit: { none: 'continues a login that was audited; reuse of a rotated-out token is audited as refused' },
    // Repeats are answered by the rotation itself, for 30 s and from a sealed copy.
    idempotent: false,
    body: Refresh,
    returns: TokenPair,
    run: rotate,
    answer: answerRefresh,
  }),
  route('POST /auth/logout', {
    summary: 'Revoke all tokens of the user and clear the cookies',
    can: 'signed-in',
    reserved: true,
    mfaExempt: true,
    audit: 'user.logout',
    idempotent: false,
    run: logOut,
  }),
  route('GET /auth/me', {
    summary: 'The current user with MFA and phone status',
    can: 'signed-in',
    mfaExempt: true,
    returns: Me,
    run: whoAmI,
  }),
]
