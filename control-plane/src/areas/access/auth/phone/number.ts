import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { z } from 'zod'

/** A number in E.164 that some network could have given out. */
export const PhoneNumber = z
  .string()
  .max(32)
  .transform((text, context) => {
    const number = parsePhoneNumberFromString(text)
    if (!text.startsWith('+') || !number?.isValid()) {
      context.addIssue({
        code: 'custom',
        message: 'must be a telephone number in E.164, such as +4915112345678',
      })
      return z.NEVER
    }
    return number.number as string
  })
  .describe('E.164, such as +4915112345678')

/** ISO 3166-1 code, or undefined for a number of no country. */
export const countryOf = (number: string): CountryCode | undefined =>
  parsePhoneNumberFromString(number)?.country
