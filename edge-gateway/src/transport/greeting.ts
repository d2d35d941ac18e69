import { deviceIdOf, tokenHash } from '@svc/proto'
import { type Greeting, offers, subprotocol } from './link.ts'

/** The headers an upgrade is judged by, as they came; absent ones are empty. */
export interface UpgradeHeaders {
  authorization: string
  protocol: string
}

/** RFC 6750 §2.1; the scheme is case-insensitive (RFC 9110 §11.1). */
const bearer = /^bearer +(\S+)$/i

/**
 * What the agent says about itself in its upgrade request, or the HTTP status to turn it away with: 401 without a well-formed
 * device token, 400 when it does not offer our subprotocol. Says nothing about whether the token is good.
 */
export function readGreeting(headers: UpgradeHeaders, address: string): Greeting | 400 | 401 {
  const token = bearer.exec(headers.authorization)?.[1]
  const deviceId = token && deviceIdOf(token)
  if (!token || !deviceId) return 401
  if (!offers(headers.protocol, subprotocol)) return 400
  return { deviceId, tokenSha256: tokenHash(token), address, via: 'websocket' }
}
