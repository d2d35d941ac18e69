import { tokenHash } from '@svc/proto'
import type { LoginSecrets } from '../../../../adapters/oidc/oidc.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { redirectUriOf } from '../providers/shown.ts'
import { loginPlace } from './begin.ts'
import { browserHash } from './browser.ts'
import { type LoginError, ofOidc, ofOutcome } from './codes.ts'
import { readPerson, saysMfa, type SsoPerson } from './person.ts'
import { oidcErrorOf, oidcProviderOf } from './provider.ts'
import { takeLogin, type TakenLogin } from './queries.ts'
import type { Callback } from './schema.ts'

export type CallbackCtx = Ctx<Record<string, never>, Callback>

/** A login that failed. `login` undefined: nobody knows whose it was. */
export interface Failed {
  code: LoginError
  reason: string
  login: TakenLogin | undefined
  subject?: string
}

/** Somebody whom the provider knows, in the browser that the login began in. */
export interface Verified {
  login: TakenLogin & { providerId: string }
  person: SsoPerson
  browserHash: Buffer
  mfa: boolean
  mfaAt: Date | null
}

/**
 * Before the transaction. The state is used up whatever comes, and the provider is asked who it is; nothing that it says or does
 * makes this fail otherwise than with a code.
 */
export async function verifyCallback(ctx: CallbackCtx): Promise<Failed | Verified> {
  const { db, ports, query } = ctx
  const browser = browserHash(ctx)
  const fail = (code: LoginError, reason: string, login?: TakenLogin): Failed => ({ code, reason, login })
  if (query.state === undefined || !browser) return fail('invalid_callback', 'no state, or no cookie')
  const login = await takeLogin(db, tokenHash(query.state), browser, ports.clock.now())
  if (!login) return fail('invalid_callback', 'the state is unknown or used')
  if (login.outcome !== 'taken') return fail(ofOutcome[login.outcome], `the login is ${login.outcome}`, login)
  const { providerId } = login
  if (providerId === null) throw new Error('a login was taken that has no provider')
  try {
    return await verify(ctx, { ...login, providerId }, browser)
  } catch (error) {
    const known = oidcErrorOf(error)
    if (known) return fail(ofOidc[known.code], known.message, login)
    throw error
  }
}

async function verify(
  { ports, query }: CallbackCtx,
  login: Verified['login'],
  browser: Buffer,
): Promise<Failed | Verified> {
  const { metadata, discoveredAt: at, providerId } = login
  if (!metadata)
    return { code: 'invalid_provider_configuration', reason: 'nothing is known of the provider', login }
  const provider = oidcProviderOf(ports, { ...login, id: providerId }, { metadata, at })
  const opened = ports.secrets.open(login.sealed, loginPlace(login.id)).toString()
  const secrets = { ...(JSON.parse(opened) as Omit<LoginSecrets, 'state'>), state: query.state ?? '' }
  const claims = await ports.oidc.finish(provider, secrets, callbackUrl(redirectUriOf(ports), query))
  const person = readPerson(claims, login.attributeMapping)
  if (!person) return { code: 'sso_no_subject', reason: 'the subject is no text that can be kept', login }
  const mfa = login.trustsIdpMfa && saysMfa(claims)
  return {
    login,
    person,
    browserHash: browser,
    mfa,
    mfaAt: mfa ? past(claims.authTime, ports.clock.now()) : null,
  }
}

/** As the provider sent the browser here. */
function callbackUrl(redirectUri: string, query: Callback): URL {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries(query))
    if (typeof value === 'string') url.searchParams.append(name, value)
  return url
}

/** A factor was not checked in the future. */
const past = (at: Date | undefined, now: Date): Date | null => (at && at > now ? now : (at ?? null))
