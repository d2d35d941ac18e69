import { route } from '../../../../kernel/route.ts'
import { TokenPair } from '../session/schema.ts'
import { checkDisabling, disableMfa } from './disable.ts'
import { checkRotation, rotateRecoveryCodes } from './rotate.ts'
import {
  DisableMfa,
  EnabledMfa,
  EnableMfa,
  MfaSetup,
  RecoveryCodes,
  RotateRecoveryCodes,
  VerifiedMfa,
  VerifyMfa,
} from './schema.ts'
import { enableSms } from './sms.ts'
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
    reserved: true,
    mfaExempt: true,
    audit: 'user.login',
    idempotent: false,
    body: VerifyMfa,
    returns: VerifiedMfa,
    prepare: checkCode,
    run: acceptCode,
  }),
  route('POST /auth/mfa/sms/enable', {
    summary: 'Make text messages to the verified number the second factor; returns the recovery codes',
    can: 'signed-in',
    mfaExempt: true,
    audit: 'auth.mfa.setup',
    idempotent: false,
    returns: EnabledMfa,
    run: enableSms,
  }),
  route('POST /auth/mfa/disable', {
    summary: 'Take the second factor away: secret, telephone number and recovery codes go with it',
    can: 'signed-in',
    mfaExempt: true,
    audit: 'auth.mfa.disable',
    idempotent: false,
    body: DisableMfa,
    returns: TokenPair,
    prepare: checkDisabling,
    run: disableMfa,
  }),
  route('POST /auth/mfa/recovery-codes', {
    summary: 'Replace all recovery codes',
    can: 'signed-in',
    mfaExempt: true,
    audit: 'auth.mfa.recovery_codes.rotate',
    idempotent: false,
    body: RotateRecoveryCodes,
    returns: RecoveryCodes,
    prepare: checkRotation,
    run: rotateRecoveryCodes,
  }),
]
