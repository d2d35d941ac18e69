import { z } from 'zod'

/** What a provider sends a browser back with (RFC 6749 §4.1.2, RFC 9207); it may send more. */
export const Callback = z.looseObject({
  state: z.string().max(512).optional().describe('As the login was begun with'),
  code: z.string().max(8_192).optional().describe('From the identity provider'),
  iss: z.string().max(2_048).optional().describe('Whose answer it is'),
  error: z.string().max(512).optional().describe('Why there is no code'),
})
export type Callback = z.output<typeof Callback>

export const Exchange = z
  .strictObject({
    code: z
      .string()
      .min(1)
      .max(512)
      .describe('From the fragment `#ssoCode=`; lives 60 seconds, good once and in that browser'),
  })
  .meta({ id: 'ExchangeSsoCode', examples: [{ code: 'svcs_…' }] })
export type Exchange = z.output<typeof Exchange>

/** The same for an organization that is not there as for one without a provider. */
export const SsoCheck = z
  .object({
    ssoEnabled: z.boolean(),
    provider: z.object({ name: z.string(), type: z.enum(['oidc']) }).nullable(),
    enforceSSO: z.boolean().describe('Passwords open nothing there'),
    loginUrl: z.string().nullable().describe('Where a browser begins'),
  })
  .meta({ id: 'SsoCheck', description: 'Whether an organization has an identity provider, and demands it.' })
export type SsoCheck = z.output<typeof SsoCheck>

/** What became of a login that a browser brought back. */
export type TakeOutcome = 'taken' | 'foreign' | 'expired' | 'gone' | 'changed'
