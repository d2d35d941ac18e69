import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** CRC-32 in base 36, six characters: a mistyped or cut token is refused without a look-up. */
const checksum = (text: string) => crc32(text).toString(36).padStart(7, '0').slice(-6)

const hex = (uuid: string) => uuid.replaceAll('-', '')
const uuid = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** SHA-256 of a token: all that is stored of it. */
export const tokenHash = (token: string): Buffer => hash('sha256', token, 'buffer')

/** `svca_` + device id + `_` + 256-bit secret + `_` + checksum. */
export const makeDeviceToken = (deviceId: string): string => {
  const body = `svca_${hex(deviceId)}_${randomBytes(32).toString('base64url')}`
  return `${body}_${checksum(body)}`
}

const form = /^(svca_([0-9a-f]{32})_[\w-]{43})_([0-9a-z]{6})$/

/** The device id inside a well-formed device token, else undefined. Says nothing about whether the token is good. */
export const deviceIdOf = (token: string): string | undefined => {
  const match = form.exec(token)
  if (!match || checksum(match[1]!) !== match[3]) return undefined
  return uuid(match[2]!)
}
