import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { MasterKey } from '../../adapters/master-keys.ts'
import { SecretError, type SecretPlace } from '../../adapters/secrets.ts'

/** Layout: version (1 byte), key id (4), nonce (12), ciphertext, tag (16). The key id lets keys rotate while both are known. */
const version = 1
const nonceAt = 5
const bodyAt = nonceAt + 12
const tagBytes = 16

/** What is authenticated beside the text: the place. No part can hold the separator (names and ids). */
const aadOf = ({ table, column, row, org }: SecretPlace) =>
  Buffer.from([table, column, row, org ?? ''].join('|'))

export function seal(master: MasterKey, plain: string | Uint8Array, place: SecretPlace): Buffer {
  const nonce = randomBytes(12) // random is enough below 2^32 seals of one key (NIST SP 800-38D §8.3)
  const cipher = createCipheriv('aes-256-gcm', master.key, nonce, { authTagLength: tagBytes }).setAAD(
    aadOf(place),
  )
  const text = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([
    Buffer.from([version]),
    Buffer.from(master.id, 'hex'),
    nonce,
    text,
    cipher.getAuthTag(),
  ])
}

/** The id of the master key that it was sealed under; the database reads it likewise (`svc.sealed_under`). @throws SecretError */
export function keyIdOf(sealed: Buffer, place: SecretPlace): string {
  if (sealed.length < bodyAt + tagBytes || sealed[0] !== version)
    throw new SecretError(`not a sealed value (${nameOf(place)})`)
  return sealed.subarray(1, nonceAt).toString('hex')
}

/** For whoever has to mend it. */
export const nameOf = ({ table, column, row }: SecretPlace): string => `${table}.${column} of ${row}`

/** @throws SecretError */
export function open(key: Buffer, sealed: Buffer, place: SecretPlace): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonceAt, bodyAt), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(aadOf(place)).setAuthTag(sealed.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(bodyAt, -tagBytes)), decipher.final()])
  } catch (error) {
    throw new SecretError(`sealed elsewhere or changed (${nameOf(place)})`, { cause: error })
  }
}
