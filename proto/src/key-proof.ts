import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** A proof that its holder has the device's key (docs/choices.md, Device keys). */
export interface KeyProof {
  /** server's time, µs since 1970 */
  atUs: number
  /** Ed25519, 64 bytes */
  signature: Uint8Array
}

/** What a proof is of: for that device, with that token, at that time, and nothing else. */
export interface Proven {
  deviceId: string
  tokenSha256: Uint8Array
  atUs: number
}

/** Domain separation: such a signature is good for nothing else. */
const context = Buffer.from('svc.connect.v1\0')

/** The device's id (16 bytes), the SHA-256 of its token, and the time as 8 bytes, big end first. */
function signed({ deviceId, tokenSha256, atUs }: Proven): Buffer {
  const at = Buffer.alloc(8)
  at.writeBigInt64BE(BigInt(atUs))
  return Buffer.concat([context, Buffer.from(deviceId.replaceAll('-', ''), 'hex'), tokenSha256, at])
}

export const signProof = (proven: Proven, key: KeyObject): KeyProof => ({
  atUs: proven.atUs,
  signature: sign(null, signed(proven), key),
})

/** RFC 8410 §4: what stands before the 32 bytes of an Ed25519 public key. */
const spki = Buffer.from('302a300506032b6570032100', 'hex')

/** Whether the key signed it; decided off the event loop. @param publicKey its 32 bytes (RFC 8032 §5.1.5) */
export function verifyProof(
  { deviceId, tokenSha256 }: Omit<Proven, 'atUs'>,
  { atUs, signature }: KeyProof,
  publicKey: Uint8Array,
): Promise<boolean> {
  if (signature.length !== 64 || publicKey.length !== 32 || !Number.isSafeInteger(atUs))
    return Promise.resolve(false)
  const key = createPublicKey({ key: Buffer.concat([spki, publicKey]), format: 'der', type: 'spki' })
  return new Promise((resolve, reject) => {
    verify(null, signed({ deviceId, tokenSha256, atUs }), key, signature, (error, good) =>
      error ? reject(error) : resolve(good),
    )
  })
}

/** How far from now a proof may be. Into the future less: it counts until that has come. */
const early = 60_000_000
const late = 300_000_000

/** Whether a proof of that time may still be shown. Both µs since 1970. */
export const isCurrent = (atUs: number, nowUs: number): boolean => atUs > nowUs - late && atUs < nowUs + early

/** As the end of an MQTT password, `token.proof`: the time and the signature, in base64url. */
export function proofText({ atUs, signature }: KeyProof): string {
  const at = Buffer.alloc(8)
  at.writeBigInt64BE(BigInt(atUs))
  return Buffer.concat([at, signature]).toString('base64url')
}

/** What {@link proofText} made; undefined for anything else. */
export function readProof(text: string): KeyProof | undefined {
  const bytes = Buffer.from(text, 'base64url')
  const atUs = bytes.length === 72 ? Number(bytes.readBigInt64BE()) : Number.NaN
  return Number.isSafeInteger(atUs) && atUs > 0 ? { atUs, signature: bytes.subarray(8) } : undefined
}

/** RFC 8410 §7: what stands before the 32 bytes of an Ed25519 private key. */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The key pair of these 32 bytes (RFC 8032 §5.1.5): to sign with, and the public part as it enrolls. */
export function deviceKey(seed: Uint8Array): { key: KeyObject; publicKey: Buffer } {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(spki.length)
  return { key, publicKey }
}
