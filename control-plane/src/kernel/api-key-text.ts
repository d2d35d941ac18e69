import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const form = /^svc_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/
const prefixLength = 'svc_'.length + 10
const checksumLength = 6

const random = (length: number) => Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** CRC-32 in base 62, six characters: enough for all of its values. */
function checksum(text: string): string {
  let [rest, written] = [crc32(text), '']
  for (let at = 0; at < checksumLength; at++) {
    written = `${alphabet[rest % alphabet.length]}${written}`
    rest = Math.floor(rest / alphabet.length)
  }
  return written
}

/** A new key: `svc_` + 10 characters that it is recognized by + `_` + 43 that are secret (256 bits) + `_` + a checksum. */
export function makeApiKey(): string {
  const body = `svc_${random(10)}_${random(43)}`
  return `${body}_${checksum(body)}`
}

/** What of a key may be shown. */
export const prefixOf = (key: string): string => key.slice(0, prefixLength)

/** Whether it can be a key at all: a typing error or a guess is told apart without asking anybody. */
export const isApiKey = (text: string): boolean =>
  form.test(text) && checksum(text.slice(0, -checksumLength - 1)) === text.slice(-checksumLength)
