import { createHmac, randomInt, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../../../../adapters/secrets.ts'

/** How long a code lives, and after how many tries it is burned. */
export const codeLifeMs = 10 * 60_000
export const triesPerCode = 5

/** Six digits, each sequence as likely as any other. */
export const makeCode = (): string => String(randomInt(1_000_000)).padStart(6, '0')

/**
 * All that is stored of a code: under a key that is not in the database, since a million guesses are made in a second.
 *
 * @param owner whom it was sent for: of a user and number, or of one login
 */
export const codeHash = (secrets: Secrets, owner: string, code: string): Buffer =>
  hashUnder(secrets.derive('sms-code'), owner, code)

const hashUnder = (key: Buffer, owner: string, code: string) =>
  createHmac('sha256', key).update(`${owner}:${code}`).digest()

/** The stored one of a code, by whichever master key lives that it was made under; undefined: it is not this code's. */
export const fittingHash = (
  secrets: Secrets,
  owner: string,
  { code, stored }: { code: string; stored: Uint8Array },
): Buffer | undefined =>
  secrets
    .derivedAll('sms-code')
    .map((key) => hashUnder(key, owner, code))
    .find((hash) => sameHash(hash, stored))

const sameHash = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)

export const ownerOf = {
  phone: (userId: string, phone: string) => `phone:${userId}:${phone}`,
  login: (challenge: Buffer) => `login:${challenge.toString('hex')}`,
}

/** What the message says. No link: who gets one in such a message should wonder. */
export const codeText = (code: string): string =>
  `${code} is your code. It is good for a few minutes. Never give it to anybody: we do not ask for it.`
