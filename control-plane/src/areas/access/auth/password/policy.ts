import { z } from 'zod'
import { strengthOf } from '../../../../adapters/password-strength.ts'
import { ApiError } from '../../../../kernel/errors.ts'

/** docs/choices.md, Passwords. A tenant may ask for more characters, never for fewer. */
export const passwordLength = { least: 8, most: 256 }
const strongEnough = 3

/** A password that somebody chooses. Its length and strength are judged by {@link requireGoodPassword}, with one answer for all. */
export const NewPassword = z
  .string()
  .describe('8 to 256 characters, more where the tenant asks for it, and not easily guessed; kept as it came')

export interface Chosen {
  password: string
  /** what a guesser knows of its owner: e-mail, name, names of tenants */
  known: readonly string[]
  /** the most that a tenant of theirs asks for; default 8 */
  minLength?: number | undefined
}

/**
 * Judges a password by its length and by how it would be guessed, with no rule about kinds of characters.
 *
 * @throws ApiError 400 WEAK_PASSWORD, the same code and message whatever is wrong; `details` says what
 */
export async function requireGoodPassword({ password, known, minLength = 0 }: Chosen): Promise<void> {
  const { most } = passwordLength
  const least = Math.min(Math.max(passwordLength.least, minLength), most)
  const characters = Array.from(password).length
  if (characters < least) throw weak(least, 'too_short', null)
  if (characters > most) throw weak(least, 'too_long', null)
  const { score, hint } = await strengthOf(password, [...known, 'svc'])
  if (score < strongEnough) throw weak(least, 'guessable', hint)
}

const weak = (least: number, reason: 'too_short' | 'too_long' | 'guessable', hint: string | null) =>
  new ApiError('WEAK_PASSWORD', 'choose another password: long enough, and not easily guessed', {
    details: [{ reason, minLength: least, maxLength: passwordLength.most, ...(hint && { hint }) }],
  })
