import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { csrfCookie, isSameOrigin, mayUseCookie, refreshCookieOf, setRefreshCookie } from './cookies.ts'
import { findSsoOfSession, type Rotation, storeSuccessor, useRefreshToken } from './queries.ts'
import { openAnswer, sealAnswer } from './retry.ts'
import type { Refresh, TokenPair } from './schema.ts'
import { aboutUser, idleEnd, membershipOf, methodsOf, newToken, secondsUntil } from './service.ts'

/** A tab that refreshed a moment later than another is told so; later it is a thief's or a victim's try. */
const raceSeconds = 15
/** A repeat with the same Idempotency-Key gets the same answer for this long. */
const retrySeconds = 30

type RefreshCtx = Ctx<Record<string, never>, unknown, Refresh>

interface Presented {
  token: string
  hash: Buffer
  /** cookies are set only on a page of ours: a stranger's token in a body must not become the browser's session */
  cookies: boolean
  idempotencyKey: string | undefined
}

/** A refusal is a value, because what it found out must be committed (a family that dies). */
export type Refreshed =
  | { pair: TokenPair; cookieSeconds: number; cookies: boolean }
  | { refused: ApiError; endedFor?: string }

/** Rotates the pair (interface §Authentication 5). Parallel uses of one token: one successor. */
export async function rotate(ctx: RefreshCtx): Promise<Refreshed> {
  const presented = presentedToken(ctx)
  const { hash, idempotencyKey } = presented
  const at = ctx.ports.clock.now()
  const retryKeyHash = idempotencyKey === undefined ? null : tokenHash(idempotencyKey)
  const rotation = await useRefreshToken(ctx.db, { hash, retryKeyHash, at, raceSeconds, retrySeconds })
  switch (rotation?.outcome) {
    case 'rotate':
      return succeed(ctx, presented, rotation, retryKeyHash, at)
    case 'retried':
      return repeat(presented, rotation, at)
    case 'raced':
      return {
        refused: new ApiError(
          'REFRESH_RACED',
          'rotated a moment ago by a parallel request: use the newer token',
        ),
      }
    case 'reused':
      reportReuse(ctx, rotation)
      return { ...refusal(), endedFor: rotation.userId }
    case 'dead':
    case undefined:
      return refusal()
  }
}

/** After the commit: the pair and its cookies, or the refusal. */
export async function answerRefresh(ctx: RefreshCtx, refreshed: Refreshed): Promise<TokenPair> {
  if ('refused' in refreshed) {
    if (refreshed.endedFor) await ctx.ports.callers.changed(refreshed.endedFor)
    throw refreshed.refused
  }
  const { pair, cookies, cookieSeconds } = refreshed
  if (cookies) setRefreshCookie(ctx, pair.refreshToken, cookieSeconds)
  return pair
}

const refusal = () => ({
  refused: new ApiError('REFRESH_INVALID', 'the refresh token is not valid: log in again'),
})

/** A token in the body makes the cookie irrelevant. @throws ApiError 401 without either, 403 for a cookie without proof */
function presentedToken({ body, client, ports }: RefreshCtx): Presented {
  const { publicUrl } = ports.config
  const idempotencyKey = client.header('idempotency-key')
  const given = body?.refreshToken
  if (given !== undefined) {
    return { token: given, hash: tokenHash(given), cookies: isSameOrigin(client, publicUrl), idempotencyKey }
  }
  const token = refreshCookieOf(client)
  if (token === undefined) throw new ApiError('REFRESH_INVALID', 'no refresh token came with the request')
  if (!mayUseCookie(client, publicUrl)) {
    throw new ApiError(
      'CSRF_INVALID',
      `send header x-svc-csrf with the value of cookie ${csrfCookie}, from a page of ${new URL(publicUrl).origin}`,
    )
  }
  return { token, hash: tokenHash(token), cookies: true, idempotencyKey }
}

async function succeed(
  { db, ports }: RefreshCtx,
  { token, hash, cookies, idempotencyKey }: Presented,
  rotation: Rotation,
  retryKeyHash: Buffer | null,
  at: Date,
): Promise<Refreshed> {
  const refreshToken = newToken('svcr')
  const sso = rotation.orgId === null ? undefined : await findSsoOfSession(db, rotation.familyId)
  const { accessToken, expiresInSeconds } = await ports.tokens.issue({
    userId: rotation.userId,
    sessionId: rotation.familyId,
    authEpoch: rotation.authEpoch,
    mfa: rotation.mfa,
    amr: methodsOf(rotation.mfa, sso),
    membership: membershipOf(rotation),
    sso,
  })
  const pair = { accessToken, refreshToken, expiresInSeconds }
  const idleUntil = idleEnd(at, rotation.until)
  await storeSuccessor(db, {
    familyId: rotation.familyId,
    usedHash: hash,
    tokenHash: tokenHash(refreshToken),
    at,
    idleUntil,
    retryKeyHash,
    retryAnswer: idempotencyKey === undefined ? null : sealAnswer(pair, token, idempotencyKey),
  })
  return { pair, cookies, cookieSeconds: secondsUntil(idleUntil, at) }
}

function repeat({ token, cookies, idempotencyKey }: Presented, rotation: Rotation, at: Date): Refreshed {
  if (!rotation.retryAnswer || idempotencyKey === undefined) return refusal()
  const pair = openAnswer(rotation.retryAnswer, token, idempotencyKey)
  return { pair, cookies, cookieSeconds: secondsUntil(idleEnd(at, rotation.until), at) }
}

/** Somebody holds a copy of a token: both parties are out (RFC 9700 §4.14.2). */
function reportReuse(ctx: RefreshCtx, { userId, email, partnerId, orgId, familyId }: Rotation) {
  ctx.refused({
    action: 'auth.refresh.reuse',
    result: 'denied',
    ...aboutUser({ id: userId, email, partnerId, orgId }),
    details: { sessionId: familyId },
  })
}
