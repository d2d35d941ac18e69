import { randomBytes, timingSafeEqual } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import type { Client, Ctx } from '../../../../kernel/context.ts'

const refreshCookie = 'svc_refresh_token'
/** Readable by the page, which sends it back as header `x-svc-csrf`. */
export const csrfCookie = 'svc_csrf_token'
const refreshPath = '/api/v1/auth'

type Carrier = Pick<Ctx, 'answer' | 'client'>

/** @param maxAgeSeconds as long as the token lives if nobody uses it */
export function setRefreshCookie({ answer, client }: Carrier, token: string, maxAgeSeconds: number): void {
  answer.cookie(refreshCookie, token, { maxAgeSeconds, httpOnly: true, path: refreshPath })
  // Kept over rotations, so that a tab which refreshes at the same time still sends the right one.
  const proof = client.cookie(csrfCookie) || randomBytes(32).toString('base64url')
  answer.cookie(csrfCookie, proof, { maxAgeSeconds, httpOnly: false, path: '/' })
}

export function clearRefreshCookie({ answer }: Pick<Ctx, 'answer'>): void {
  answer.cookie(refreshCookie, '', { maxAgeSeconds: 0, httpOnly: true, path: refreshPath })
  answer.cookie(csrfCookie, '', { maxAgeSeconds: 0, httpOnly: false, path: '/' })
}

export const refreshCookieOf = (client: Client): string | undefined =>
  client.cookie(refreshCookie) || undefined

/** The page that asks is ours: the browser says so itself, or names our origin. */
export function isSameOrigin(client: Client, publicUrl: string): boolean {
  const site = client.header('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  return client.header('origin') === new URL(publicUrl).origin
}

/** Whoever may use the cookie: a page of ours that can read the cookie beside it (interface §Authentication 5). */
export function mayUseCookie(client: Client, publicUrl: string): boolean {
  const cookie = client.cookie(csrfCookie)
  const header = client.header('x-svc-csrf')
  if (!cookie || !header) return false
  return timingSafeEqual(tokenHash(cookie), tokenHash(header)) && isSameOrigin(client, publicUrl)
}
