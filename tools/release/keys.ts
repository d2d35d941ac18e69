import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A key pair that signs releases, as it lies in its folder. */
export interface ReleaseKeys {
  /** the 32 bytes in base64, as RELEASE_KEYS takes it */
  publicKey: string
  /** PKCS #8 in PEM, mode 0600 */
  keyFile: string
}

const privateName = 'release-key.pem'
const publicName = 'release-key.pub'

/** The 32 bytes of the public key that belongs to a private one (RFC 8037 §2). */
export const rawPublicKey = (key: KeyObject): Buffer =>
  Buffer.from(String(createPublicKey(key).export({ format: 'jwk' }).x), 'base64url')

/** The private key in a PEM file. @throws Error when it is no Ed25519 key */
export function readReleaseKey(file: string): KeyObject {
  const key = createPrivateKey(readFileSync(file))
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${file}: not an Ed25519 key`)
  return key
}

/** The keys of a folder, made if they are not there. A key that is there is never replaced. */
export function ensureReleaseKeys(folder: string): ReleaseKeys {
  const keyFile = join(folder, privateName)
  if (!existsSync(keyFile)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { privateKey } = generateKeyPairSync('ed25519')
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
    writeFileSync(keyFile, pem, { mode: 0o600, flag: 'wx', flush: true })
  }
  const publicKey = rawPublicKey(readReleaseKey(keyFile)).toString('base64')
  const publicFile = join(folder, publicName)
  if (!existsSync(publicFile)) writeFileSync(publicFile, `${publicKey}\n`, { mode: 0o644 })
  return { publicKey, keyFile }
}
