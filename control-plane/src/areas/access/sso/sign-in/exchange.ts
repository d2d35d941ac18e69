import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { LoginAnswer } from '../../auth/login/schema.ts'
import { completeSsoLogin } from '../../auth/login/service.ts'
import { loginUrlOf } from '../providers/shown.ts'
import { browserHash } from './browser.ts'
import { findActiveProvider, useCode } from './queries.ts'
import type { Exchange, SsoCheck } from './schema.ts'

/**
 * A code for tokens, as `POST /auth/login` answers: once, within a minute, in the browser that it was given to.
 *
 * @throws ApiError 400 LINK_INVALID
 */
export async function exchange(ctx: Ctx<Record<string, never>, unknown, Exchange>): Promise<LoginAnswer> {
  const { db, body, ports } = ctx
  const browser = browserHash(ctx)
  const holder = browser && (await useCode(db, tokenHash(body.code), browser, ports.clock.now()))
  if (!holder) throw new ApiError('LINK_INVALID', 'the code is unknown, used, expired or of another browser')
  const { providerId, mfa, mfaAt } = holder
  return completeSsoLogin(ctx, holder, { providerId, mfa, mfaAt })
}

/** Whether an organization has a provider; one that is not there has none. */
export async function check({ db, params, ports }: Ctx<{ orgId: string }>): Promise<SsoCheck> {
  const found = await findActiveProvider(db, params.orgId)
  if (!found) return { ssoEnabled: false, provider: null, enforceSSO: false, loginUrl: null }
  const { name, type, enforceSso } = found
  return {
    ssoEnabled: true,
    provider: { name, type },
    enforceSSO: enforceSso,
    loginUrl: loginUrlOf(ports, params.orgId),
  }
}
