import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'

type Carrier = Pick<Ctx, 'client' | 'answer' | 'ports'>

/** As long as a login may take (interface §Limits). */
const maxAgeSeconds = 600
const secret = /^[\w-]{43}$/

/** RFC 6265bis: with `__Host-` no other host can plant it. It needs TLS, which there is none of on loopback. */
const nameOf = ({ config }: Ctx['ports']): string =>
  config.publicUrl.startsWith('https:') ? '__Host-svc_sso' : 'svc_sso'

function known({ client, ports }: Pick<Carrier, 'client' | 'ports'>): string | undefined {
  const value = client.cookie(nameOf(ports))
  return value !== undefined && secret.test(value) ? value : undefined
}

/** What a browser's cookie is remembered by; undefined: it has none. */
export function browserHash(carrier: Pick<Carrier, 'client' | 'ports'>): Buffer | undefined {
  const value = known(carrier)
  return value === undefined ? undefined : tokenHash(value)
}

/** Gives the browser its cookie, the same for logins in several of its tabs, and returns what that is remembered by. */
export function markBrowser(carrier: Carrier): Buffer {
  const value = known(carrier) ?? randomBytes(32).toString('base64url')
  // The provider sends the browser here from its own site, which a strict cookie does not survive.
  carrier.answer.cookie(nameOf(carrier.ports), value, {
    maxAgeSeconds,
    httpOnly: true,
    path: '/',
    sameSite: 'lax',
  })
  return tokenHash(value)
}
