import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { MasterKey } from '../../adapters/keys.ts'
import { SecretError, type SecretPlace, type Secrets } from '../../adapters/secrets.ts'

/** Layout: version (1 byte), key id (4), nonce (12), ciphertext, tag (16). The key id lets keys rotate while both are known. */
const version = 1
const nonceAt = 5
const bodyAt = nonceAt + 12
const tagBytes = 16

/** What is authenticated beside the text: the place. No part can hold the separator (names and ids). */
const aadOf = ({ table, column, row, org }: SecretPlace) =>
  Buffer.from([table, column, row, org ?? ''].join('|'))

function seal(master: MasterKey, plain: string | Uint8Array, place: SecretPlace): Buffer {
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

function open(keys: ReadonlyMap<string, Buffer>, bytes: Uint8Array, place: SecretPlace): Buffer {
  const sealed = Buffer.from(bytes)
  if (sealed.length < bodyAt + tagBytes || sealed[0] !== version) throw new SecretError('not a sealed value')
  const keyId = sealed.subarray(1, nonceAt).toString('hex')
  const key = keys.get(keyId)
  if (!key) throw new SecretError(`sealed under key ${keyId}, which is not in KEYS_DIR`)
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonceAt, bodyAt), {
    authTagLength: tagBytes,
  })
  decipher.setAAD(aadOf(place)).setAuthTag(sealed.subarray(-tagBytes))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(bodyAt, -tagBytes)), decipher.final()])
  } catch (error) {
    throw new SecretError(`sealed elsewhere or changed (${place.table}.${place.column})`, { cause: error })
  }
}

/** Envelopes under the master key: AES-256-GCM, bound to their place. */
export function secretsOf(master: MasterKey): Secrets {
  const keys = new Map([[master.id, master.key]])
  return {
    seal: (plain, place) => seal(master, plain, place),
    open: (sealed, place) => open(keys, sealed, place),
    derive: (use) => Buffer.from(hkdfSync('sha256', master.key, '', `svc.${use}.v1`, 32)),
  }
}
