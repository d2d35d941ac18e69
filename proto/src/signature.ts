import { type KeyObject, sign, verify } from 'node:crypto'

/** Domain separation: a command signature is good for nothing else. */
const context = Buffer.from('svc.command.v1\0')

const signed = (body: Uint8Array) => Buffer.concat([context, body])

/** Ed25519 over the context and the body bytes as they travel (RFC 8032). */
export const signCommand = (body: Uint8Array, key: KeyObject): Uint8Array => sign(null, signed(body), key)

/** True when the body is what the control plane signed; an agent runs nothing else. */
export const verifyCommand = (body: Uint8Array, signature: Uint8Array, key: KeyObject): boolean =>
  signature.length === 64 && verify(null, signed(body), key, signature)
