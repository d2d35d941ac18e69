import { route } from '../../../../kernel/route.ts'
import { EnabledMfa, EnableMfa, MfaSetup, VerifiedMfa, VerifyMfa } from './schema.ts'
import { beginMfaSetup, checkSetupCode, confirmMfaSetup } from './setup.ts'
import { acceptCode, checkCode } from './verify.ts'

export default [
  route('POST /auth/mfa/setup', {
    summary: 'Begin a TOTP set-up; a code confirms it within 10 minutes',
    can: 'signed-in',
    mfaExempt: true,
    audit: { none: 'nothing is in force before it is confirmed' },
    idempotent: false,
    returns: MfaSetup,
    run: beginMfaSetup,
  }),
  route('POST /auth/mfa/enable', {
    summary: 'Confirm the TOTP set-up; returns the recovery codes',
    can: 'signed-in',
    mfaExempt: true,
    audit: 'auth.mfa.setup',
    idempotent: false,
    body: EnableMfa,
    returns: EnabledMfa,
    prepare: checkSetupCode,
    run: confirmMfaSetup,
  }),
  route('POST /auth/mfa/verify', {
    summary: 'Complete a login (with tempToken), confirm a set-up, or prove the second factor again',
    can: 'public',
    mfaExempt: true,
    audit: 'user.login',
    idempotent: false,
    body: VerifyMfa,
    returns: VerifiedMfa,
    prepare: checkCode,
    run: acceptCode,
  }),
]
