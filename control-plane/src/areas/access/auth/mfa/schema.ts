import { z } from 'zod'
import { LoginAnswer } from '../login/schema.ts'
import { TokenPair } from '../session/schema.ts'

/** Six digits of an authenticator, or a recovery code: 25 characters of base 32, however they are grouped. */
export const Code = z
  .string()
  .max(64)
  .transform((text) => text.replaceAll(/[\s-]/g, '').toUpperCase())
  .refine(
    (text) => /^\d{6}$/.test(text) || /^[A-Z2-7]{25}$/.test(text),
    'must be six digits or a recovery code',
  )
  .describe('Six digits of the authenticator, or a recovery code; blanks and hyphens do not count')

/** With `tempToken` it completes a login; without, the caller confirms a set-up or proves the second factor again. */
export const VerifyMfa = z
  .strictObject({
    code: Code,
    tempToken: z
      .string()
      .min(1)
      .max(512)
      .optional()
      .describe('From a login that answered `mfaRequired`; left out by who is logged in already'),
  })
  .meta({ id: 'VerifyMfa', examples: [{ code: '123456', tempToken: 'svct_…' }, { code: '123456' }] })
export type VerifyMfa = z.output<typeof VerifyMfa>

export const EnableMfa = z
  .strictObject({ code: Code })
  .meta({ id: 'EnableMfa', examples: [{ code: '123456' }] })
export type EnableMfa = z.output<typeof EnableMfa>

/** `recoveryCodes`: when this confirmed a set-up; the same ones that the set-up showed. */
export const VerifiedMfa = LoginAnswer.extend({
  recoveryCodes: z
    .array(z.string())
    .optional()
    .describe('When this confirmed a set-up: the ones that it showed'),
}).meta({
  id: 'VerifiedMfa',
  description:
    'The tokens of the completed login; or, without `tempToken`, an access token that says a code was checked.',
})
export type VerifiedMfa = z.output<typeof VerifiedMfa>

/** Valid 10 minutes (interface §Time-boxed intermediate states). */
export const MfaSetup = z
  .object({
    secret: z.string().describe('Base 32, for typing into an authenticator'),
    otpAuthUrl: z.string().describe('`otpauth://` URL of the same secret'),
    qrCodeDataUrl: z.string().describe('That URL as a picture, `data:image/png;base64,…`'),
    recoveryCodes: z.array(z.string()).describe('Each good once, when the authenticator is lost'),
  })
  .meta({ id: 'MfaSetup', description: 'Valid 10 minutes, and in force once a code has confirmed it.' })
export type MfaSetup = z.output<typeof MfaSetup>

/** The pair replaces the caller's; all other tokens of the user are dead. */
export const EnabledMfa = TokenPair.extend({
  recoveryCodes: z.array(z.string()).describe('Each good once; shown now and never again'),
}).meta({
  id: 'EnabledMfa',
  description:
    'The second factor is in force. All sessions have ended, and this login goes on with this pair.',
})
export type EnabledMfa = z.output<typeof EnabledMfa>

/** A code of the factor in force. */
export const DisableMfa = z
  .strictObject({ code: Code })
  .meta({ id: 'DisableMfa', examples: [{ code: '123456' }] })
export type DisableMfa = z.output<typeof DisableMfa>

export const RotateRecoveryCodes = z
  .strictObject({ code: Code.optional().describe('Left out where a code was checked within ten minutes') })
  .meta({ id: 'RotateRecoveryCodes', examples: [{ code: '123456' }, {}] })
  .optional()
export type RotateRecoveryCodes = z.output<typeof RotateRecoveryCodes>

export const RecoveryCodes = z
  .object({ recoveryCodes: z.array(z.string()).describe('Each good once; shown now and never again') })
  .meta({ id: 'RecoveryCodes', description: 'All codes before these are void.' })
export type RecoveryCodes = z.output<typeof RecoveryCodes>
