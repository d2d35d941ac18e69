import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { SmsFailed } from '../../../../adapters/sms/sms.ts'
import { codeLifeMs, codeText } from './codes.ts'
import { countryOf } from './number.ts'
import type { SentCode } from './schema.ts'

/** A code on its way: what `run` hands to `answer`. */
export interface Sending {
  phone: string
  code: string
}

/** Before anything is stored. @throws ApiError 501 where no text messages are sent, 400 for a country that is not written to */
export function requireSms({ ports }: Pick<Ctx, 'ports'>, phone?: string): void {
  const { sms, config } = ports
  if (!sms) throw new ApiError('SMS_NOT_CONFIGURED', 'this server sends no text messages')
  if (phone === undefined || config.smsCountries.length === 0) return
  const country = countryOf(phone)
  if (country && config.smsCountries.includes(country)) return
  throw new ApiError('VALIDATION_ERROR', 'this server writes to no numbers of this country', {
    details: [{ in: 'body', field: 'phoneNumber', message: `is none of ${config.smsCountries.join(', ')}` }],
  })
}

/** After the commit: a provider that is slow holds no transaction. @throws ApiError 502 when it does not take the message */
export async function sendCode({ ports }: Pick<Ctx, 'ports'>, { phone, code }: Sending): Promise<SentCode> {
  requireSms({ ports })
  try {
    await ports.sms?.send(phone, codeText(code))
  } catch (error) {
    if (!(error instanceof SmsFailed)) throw error
    throw new ApiError('PROVIDER_ERROR', 'the text message could not be sent: try again later', {
      cause: error,
    })
  }
  return { sent: true, phoneLast4: phone.slice(-4), expiresInSeconds: codeLifeMs / 1_000 }
}
