import { openIdp } from '../../../../../control-plane/test/harness/idp/idp.ts'
import type { Stage } from '../stage.ts'
import { noteTokens, type Person } from './login.ts'

/** Where an answer sends a browser, and the cookies that it has from then on. */
async function step(at: string, cookies: Map<string, string>): Promise<string> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(at, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } })
  await answer.arrayBuffer()
  for (const line of answer.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    cookies.set(name, value)
  }
  return new URL(answer.headers.get('location') ?? '', at).href
}

/** The organization gets an identity provider, one of its people logs in through it, and both are refused what is used already. */
export async function logsInBySso(stage: Stage, admin: Person): Promise<void> {
  const { client, canaries, system } = stage
  const api = `${system.apiUrl}/api/v1`
  const idp = await openIdp(`${api}/sso/callback`)
  try {
    canaries.shown('client secret of an identity provider', 'of the customer', idp.clientSecret)
    const { organizationId: orgId } = system.tenant
    const { json } = await client.want(200, 'GET', `/roles?orgId=${orgId}`, { headers: admin.bearer })
    const defaultRoleId = json.data?.find(({ name }) => name === 'Organization Viewer')?.['id']
    const { issuer, clientId, clientSecret } = idp
    const settings = { autoProvision: true, defaultRoleId, allowedDomains: 'staff.example' }
    const made = await client.want(201, 'POST', '/sso/providers', {
      body: { orgId, name: 'Staff', issuer, clientId, clientSecret, ...settings },
      headers: admin.bearer,
    })
    const path = `/sso/providers/${String(made.json['id'])}`
    await client.want(200, 'POST', `${path}/test`, { headers: admin.bearer })
    await client.want(200, 'POST', `${path}/status`, { body: { status: 'active' }, headers: admin.bearer })

    const [ours, theirs] = [new Map<string, string>(), new Map([['who', 'kim']])]
    let at = await step(`${api}/sso/login/${orgId}`, ours)
    canaries.shown('SSO login', 'cookie of a browser', ours.get('svc_sso'))
    const state = new URL(at).searchParams.get('state') ?? undefined
    canaries.shown('SSO state, nonce and verifier', 'of a login', state)
    const nonce = new URL(at).searchParams.get('nonce') ?? undefined
    canaries.shown('SSO state, nonce and verifier', 'nonce of a login', nonce)
    while (at.startsWith(issuer)) at = await step(at, theirs)
    canaries.shown('SSO code', 'of the provider', new URL(at).searchParams.get('code') ?? undefined)
    const back = await step(at, ours)
    const code = canaries.shown('SSO code', 'of a login', /#ssoCode=(.+)$/.exec(back)?.[1])
    const headers = { Cookie: `svc_sso=${ours.get('svc_sso')}` }
    const exchange = (status: number) =>
      client.want(status, 'POST', '/sso/exchange', { body: { code }, headers })
    noteTokens(stage, 'by single sign-on', await exchange(200))
    await exchange(400)
    await step(at, ours)

    // One that is never finished stays where it is.
    const waiting = await step(`${api}/sso/login/${orgId}`, ours)
    const left = new URL(waiting).searchParams.get('state') ?? undefined
    canaries.shown('SSO state, nonce and verifier', 'of a login that waits', left)
  } finally {
    await idp.close()
  }
}
