import { z } from 'zod'
import { CurrentPassword } from '../password/schema.ts'
import { TokenPair } from '../session/schema.ts'
import { PhoneNumber } from './number.ts'

export const VerifyPhone = z
  .strictObject({
    phoneNumber: PhoneNumber,
    currentPassword: CurrentPassword.optional().describe('Needed where the account has a password'),
  })
  .meta({
    id: 'VerifyPhone',
    examples: [{ phoneNumber: '+4915112345678', currentPassword: 'correct horse battery staple' }],
  })
export type VerifyPhone = z.output<typeof VerifyPhone>

export const SentCode = z
  .object({
    sent: z.literal(true),
    phoneLast4: z.string().describe('Where it went: the last digits of the number'),
    expiresInSeconds: z.int().describe('How long the code lives, unless what it is for ends before'),
  })
  .meta({ id: 'SentCode', description: 'A code is on its way.' })
export type SentCode = z.output<typeof SentCode>

export const ConfirmPhone = z
  .strictObject({
    code: z
      .string()
      .max(16)
      .transform((text) => text.replaceAll(/[\s-]/g, ''))
      .refine((text) => /^\d{6}$/.test(text), 'must be six digits')
      .describe('Six digits of the text message; blanks and hyphens do not count'),
    phoneNumber: PhoneNumber.optional().describe(
      'Where given, it must be the number that the code was sent to',
    ),
  })
  .meta({ id: 'ConfirmPhone', examples: [{ code: '123456' }] })
export type ConfirmPhone = z.output<typeof ConfirmPhone>

export const ConfirmedPhone = z
  .object({ phoneVerified: z.literal(true), phoneLast4: z.string() })
  .extend(TokenPair.partial().shape)
  .meta({
    id: 'ConfirmedPhone',
    description:
      'The number is the caller’s. Where it is a second factor in force, the change ended all sessions, and this login goes on with the pair of the answer.',
  })
export type ConfirmedPhone = z.output<typeof ConfirmedPhone>

export const SendSms = z
  .strictObject({
    tempToken: z.string().min(1).max(512).describe('From a login that answered `mfaRequired`'),
  })
  .meta({ id: 'SendSms', examples: [{ tempToken: 'svct_…' }] })
export type SendSms = z.output<typeof SendSms>
