import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { TokenPair } from './schema.ts'

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Only who holds the used token and the Idempotency-Key it was used with can make this key: it is not stored. */
const keyFor = (usedToken: string, idempotencyKey: string) =>
  new Uint8Array(hkdfSync('sha256', usedToken, idempotencyKey, 'svc.refresh.answer.v1', 32))

/** The answer to a refresh, kept for a repeat of it: nonce, tag, ciphertext. */
export function sealAnswer(pair: TokenPair, usedToken: string, idempotencyKey: string): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, keyFor(usedToken, idempotencyKey), nonce)
  const text = Buffer.concat([cipher.update(JSON.stringify(pair)), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

/** @throws Error when it was sealed for another token or key, or changed */
export function openAnswer(sealed: Buffer, usedToken: string, idempotencyKey: string): TokenPair {
  const nonce = sealed.subarray(0, nonceBytes)
  const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes)
  const decipher = createDecipheriv(algorithm, keyFor(usedToken, idempotencyKey), nonce)
  decipher.setAuthTag(tag)
  const text = Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()])
  return TokenPair.parse(JSON.parse(text.toString()))
}
