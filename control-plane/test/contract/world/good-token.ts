import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import type { KeyPair } from '../../../src/adapters/keys.ts'

const decode = (part: string) =>
  JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>

/** A good token and its parts, of a user of its own: one that is wrongly let in must not end another's login. */
export class Good {
  readonly token: string
  readonly head: string
  readonly payload: string
  readonly signature: string
  readonly #keys: KeyPair

  /** @param keys the server's own */
  constructor(token: string, keys: KeyPair) {
    const [head = '', payload = '', signature = ''] = token.split('.')
    this.#keys = keys
    this.token = token
    this.head = head
    this.payload = payload
    this.signature = signature
  }

  get header() {
    return decode(this.head) as { alg: string; typ: string; kid: string }
  }

  get claims() {
    return decode(this.payload)
  }

  /** Says something else, under the right key. */
  signed(changes: Record<string, unknown>, head: Record<string, unknown> = {}) {
    return this.#sign(changes, head, this.#keys.privateKey)
  }

  /** RFC 8725 §2.1: the public key, which everybody knows, taken for a shared secret. */
  confused() {
    return this.#sign(
      {},
      { alg: 'HS256' },
      Buffer.from(this.#keys.publicKey.export({ type: 'spki', format: 'pem' })),
    )
  }

  byAnotherKey() {
    return this.#sign({}, {}, generateKeyPairSync('ed25519').privateKey)
  }

  #sign(changes: Record<string, unknown>, head: Record<string, unknown>, key: KeyObject | Buffer) {
    return new SignJWT({ ...this.claims, ...changes })
      .setProtectedHeader({ ...this.header, ...head })
      .sign(key)
  }
}
