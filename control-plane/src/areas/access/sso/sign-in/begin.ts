import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import type { LoginSecrets } from '../../../../adapters/oidc/oidc.ts'
import type { SecretPlace } from '../../../../adapters/secrets.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import type { Redirect } from '../../../../kernel/route.ts'
import { redirectUriOf } from '../providers/shown.ts'
import { markBrowser } from './browser.ts'
import { type LoginError, ofOidc } from './codes.ts'
import { currentMetadata, type Current, oidcErrorOf, oidcProviderOf } from './provider.ts'
import { type ActiveProvider, beginLogin, findActiveProvider, noteMetadata } from './queries.ts'

/** interface §Limits */
const loginMs = 10 * 60_000

type BeginCtx = Ctx<{ orgId: string }>

/** Nonce and verifier of a login that is under way, sealed. */
export const loginPlace = (id: string): SecretPlace => ({
  table: 'sso_logins',
  column: 'sealed',
  row: id,
  org: null,
})

/** Back to the application: the host is configured, never the request's. */
export const failed = ({ config }: Ctx['ports'], code: LoginError): Redirect => ({
  to: `${config.publicUrl}/login?error=${code}`,
})

export type Beginning = { provider: ActiveProvider; current: Current } | { code: LoginError }

/** Before the transaction: the provider is asked what it is, where that is not known. */
export async function findBeginning(ctx: BeginCtx): Promise<Beginning> {
  const provider = await findActiveProvider(ctx.db, ctx.params.orgId)
  if (!provider) return { code: 'provider_not_found' }
  try {
    return { provider, current: await currentMetadata(ctx, provider) }
  } catch (error) {
    const known = oidcErrorOf(error)
    if (known) return { code: ofOidc[known.code] }
    throw error
  }
}

const random = () => randomBytes(32).toString('base64url')

/** The browser goes to the provider, with a state that only this browser's cookie fits. */
export async function begin(ctx: BeginCtx, beginning: Beginning): Promise<Redirect> {
  const { db, ports } = ctx
  if ('code' in beginning) return failed(ports, beginning.code)
  const { provider, current } = beginning
  if (current.found) await noteMetadata(db, provider, current.metadata, current.at ?? ports.clock.now())
  const login: LoginSecrets = { state: random(), nonce: random(), verifier: random() }
  const id = uuid()
  const { nonce, verifier } = login
  await beginLogin(db, provider, {
    id,
    stateHash: tokenHash(login.state),
    browserHash: markBrowser(ctx),
    sealed: ports.secrets.seal(JSON.stringify({ nonce, verifier }), loginPlace(id)),
    until: new Date(ports.clock.now().getTime() + loginMs),
  })
  const to = { redirectUri: redirectUriOf(ports), scopes: provider.scopes }
  return { to: await ports.oidc.loginUrl(oidcProviderOf(ports, provider, current), login, to) }
}
