import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import Provider from 'oidc-provider'
import { afterAll } from 'vitest'
import { storeOf } from './store.ts'

type Json = Record<string, unknown>

/** Somebody whom the identity provider knows; the rest are claims. */
export interface IdpAccount extends Json {
  email?: unknown
  email_verified?: unknown
  name?: unknown
}

/** What it answers in place of what it would; by the path of the answer. */
export type Tamper = Partial<
  Record<
    '/token' | '/me' | '/jwks' | '/.well-known/openid-configuration',
    (body: Json) => Json | Promise<Json>
  >
>

export interface Idp {
  issuer: string
  clientId: string
  clientSecret: string
  /** by subject: whoever is not in here is somebody with a verified address of `staff.example` */
  accounts: Map<string, IdpAccount>
  tamper: Tamper
  /** how often each path was asked */
  asked: Map<string, number>
  /** signs its ID tokens, RS256 */
  key: { privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']; kid: string }
  close(): Promise<void>
}

/** As {@link openIdp}, closed after the file. */
export async function startIdp(redirectUri: string): Promise<Idp> {
  const idp = await openIdp(redirectUri)
  afterAll(() => idp.close())
  return idp
}

/** A real identity provider on loopback; the browser's cookie `who` says which of its users sits there. */
export async function openIdp(redirectUri: string): Promise<Idp> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const kid = randomBytes(4).toString('hex')
  const jwk: JWK = { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const idp: Idp = {
    issuer,
    clientId: `svc-${kid}`,
    clientSecret: randomBytes(24).toString('base64url'),
    accounts: new Map(),
    tamper: {},
    asked: new Map(),
    key: { privateKey, kid },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  const provider = new Provider(issuer, configurationOf(idp, jwk, redirectUri))
  const handle = provider.callback()
  server.on('request', (request, response) => {
    const path = new URL(request.url ?? '/', issuer).pathname
    idp.asked.set(path, (idp.asked.get(path) ?? 0) + 1)
    const tamper = idp.tamper[path as keyof Tamper]
    if (tamper) tampered(response, tamper)
    const work = path.startsWith('/interaction/')
      ? interact(provider, request, response)
      : handle(request, response)
    work.catch((error: unknown) => response.destroy(error as Error))
  })
  return idp
}

const claimsOf = (idp: Idp, subject: string) => {
  const known = idp.accounts.get(subject)
  return known ?? { email: `${subject}@staff.example`, email_verified: true, name: `Staff ${subject}` }
}

const configurationOf = (idp: Idp, jwk: JWK, redirectUri: string) => ({
  clients: [{ client_id: idp.clientId, client_secret: idp.clientSecret, redirect_uris: [redirectUri] }],
  adapter: storeOf(),
  jwks: { keys: [jwk] },
  cookies: { keys: [randomBytes(16).toString('hex')] },
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name', 'given_name', 'family_name'],
  },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  findAccount: (_: unknown, subject: string) => ({
    accountId: subject,
    claims: async (use: string) => ({
      ...(use === 'userinfo' && claimsOf(idp, subject)),
      sub: subject,
    }),
  }),
  ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
})

/** Nobody is asked anything: the cookie says who it is, and they consent. */
async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse) {
  const accountId = /(?:^|; )who=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''
  const { params } = await provider.interactionDetails(request, response)
  if (accountId === '') {
    await provider.interactionFinished(request, response, { error: 'access_denied' })
    return
  }
  const grant = new provider.Grant({ accountId, clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  const grantId = await grant.save()
  await provider.interactionFinished(request, response, {
    login: { accountId },
    consent: { grantId },
  })
}

/** The answer's JSON goes through `change` before it leaves. */
function tampered(response: ServerResponse, change: (body: Json) => Json | Promise<Json>) {
  const end = response.end.bind(response) as (text: string) => ServerResponse
  response.end = ((chunk: unknown) => {
    void (async () => {
      const text = JSON.stringify(await change(JSON.parse(String(chunk)) as Json))
      response.setHeader('content-length', Buffer.byteLength(text))
      end(text)
    })().catch((error: unknown) => response.destroy(error as Error))
    return response
  }) as typeof response.end
}
