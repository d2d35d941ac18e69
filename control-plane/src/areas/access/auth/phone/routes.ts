import { route } from '../../../../kernel/route.ts'
import { beginSmsLogin, findWaiting } from './login.ts'
import { ConfirmedPhone, ConfirmPhone, SendSms, SentCode, VerifyPhone } from './schema.ts'
import { sendCode } from './send.ts'
import { beginVerification, checkNumber, checkPhoneCode, confirmPhone } from './verify.ts'

export default [
  route('POST /auth/phone/verify', {
    summary: 'Send a code to a telephone number, to verify it; or to the number in force, to prove it again',
    can: 'signed-in',
    mfaExempt: true,
    audit: 'auth.phone.verify.requested',
    idempotent: false,
    body: VerifyPhone,
    returns: SentCode,
    prepare: checkNumber,
    run: beginVerification,
    answer: sendCode,
  }),
  route('POST /auth/phone/confirm', {
    summary: 'Confirm the telephone number with the code that was sent to it',
    can: 'signed-in',
    mfaExempt: true,
    audit: 'auth.phone.confirmed',
    idempotent: false,
    body: ConfirmPhone,
    returns: ConfirmedPhone,
    prepare: checkPhoneCode,
    run: confirmPhone,
  }),
  route('POST /auth/mfa/sms/send', {
    summary: 'Send the code that completes a login, where the second factor is a text message',
    can: 'public',
    mfaExempt: true,
    limit: 'sms-send',
    audit: 'auth.mfa.sms.sent',
    idempotent: false,
    body: SendSms,
    returns: SentCode,
    prepare: findWaiting,
    run: beginSmsLogin,
    answer: sendCode,
  }),
]
