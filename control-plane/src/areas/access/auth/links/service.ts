import { tokenHash } from '@svc/proto'
import { z } from 'zod'
import type { Clock } from '../../../../adapters/clock.ts'
import type { Config } from '../../../../config.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { newToken } from '../session/service.ts'
import { issueUserToken, type LinkHolder, type LinkPurpose, readUserToken, useUserToken } from './queries.ts'

const hourMs = 3_600_000

/** Where a link leads, below PUBLIC_URL, and how long it lives (decisions "Numbers"; interface §Limits). */
const links: Record<LinkPurpose | 'invite', { path: string; lifeMs: number }> = {
  invite: { path: '/accept-invite', lifeMs: 7 * 24 * hourMs },
  reset_password: { path: '/reset-password', lifeMs: hourMs },
}

/** The token of a link as a body carries it. */
export const LinkToken = z.string().min(1).max(512).describe('From the link that was mailed; good once')

interface AnyCtx {
  db: Db
  ports: { clock: Clock; config: Pick<Config, 'publicUrl'> }
}

/** A link that leads somewhere once the hash of its token is kept. */
export interface NewLink {
  link: string
  hash: Buffer
  until: Date
}

export function newLink({ ports }: Pick<AnyCtx, 'ports'>, purpose: keyof typeof links): NewLink {
  const { path, lifeMs } = links[purpose]
  const until = new Date(ports.clock.now().getTime() + lifeMs)
  const token = newToken('svcl')
  // In the fragment: no server, proxy or Referer header ever sees it. The host is configured, never the request's.
  return { link: `${ports.config.publicUrl}${path}#token=${token}`, hash: tokenHash(token), until }
}

/** A fresh link. The one of this purpose that the user had before is void with the commit. */
export async function issueLink(
  { db, ports }: AnyCtx,
  userId: string,
  purpose: LinkPurpose,
): Promise<{ link: string; until: Date }> {
  const { link, hash, until } = newLink({ ports }, purpose)
  await issueUserToken(db, userId, purpose, hash, ports.clock.now(), until)
  return { link, until }
}

/** Whose a link is; it stays good. @throws ApiError 400 LINK_INVALID, the same for unknown, used and expired */
export async function readLink(
  { db, ports }: AnyCtx,
  purpose: LinkPurpose,
  token: string,
): Promise<LinkHolder> {
  const holder = await readUserToken(db, purpose, tokenHash(token), ports.clock.now())
  if (!holder) throw invalidLink()
  return holder
}

/** Uses a link up: exactly one of any number of callers gets past this. @throws ApiError 400 LINK_INVALID */
export async function useLink({ db, ports }: AnyCtx, purpose: LinkPurpose, token: string): Promise<string> {
  const used = await useUserToken(db, purpose, tokenHash(token), ports.clock.now())
  if (!used?.userId) throw invalidLink()
  return used.userId
}

/** The same for a link that is unknown, used, expired, or of no use to its owner any more. */
export const invalidLink = (): ApiError =>
  new ApiError('LINK_INVALID', 'the link is unknown, used or expired')
