import { deviceIdOf, makeDeviceToken } from '@svc/proto'
import { connectAsync } from 'mqtt'
import { v7 as uuid } from 'uuid'
import { WebSocket } from 'ws'
import { makeApiKey } from '../../../../../control-plane/src/kernel/api-key-text.ts'
import { isAdmitted } from '../../harness/peer.ts'
import { chosenToken } from '../canaries.ts'
import { type Asking, Client, talkNonsense } from '../client.ts'
import type { KindName } from '../../../../../control-plane/test/contract/secrets/kinds.ts'
import type { Stage } from '../stage.ts'
import type { Person } from './login.ts'
import { machine } from './machines.ts'

/** A request that is refused, with something that its sender took for a secret. */
type Refused = [method: string, path: string, asking?: Asking]

/** Bodies: with a key too many, of the wrong type, no JSON, too large, too many keys, too deep, of another type. */
function bodies(secret: (kind: KindName, what: string) => string): Refused[] {
  const email = 'nobody@provider.example'
  const inBody = (what: string) => ({ email, password: secret('password', what) })
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`key${at}`, 1]))
  const deep = `${'['.repeat(40)}"${secret('password', 'too deep').slice(0, 20)}"${']'.repeat(40)}`
  return [
    ['POST', '/auth/login', { body: inBody('wrong') }],
    [
      'POST',
      '/auth/login',
      { body: { ...inBody('beside a key too many'), surprise: secret('password', 'under an unknown key') } },
    ],
    ['POST', '/auth/login', { body: { ...inBody('with an e-mail of the wrong type'), email: 7 } }],
    ['POST', '/auth/login', { body: { email, password: [secret('password', 'in a list')] } }],
    [
      'POST',
      '/auth/login',
      { body: `{"email":"${email}","password":"${secret('password', 'in no JSON').slice(0, 30)}",` },
    ],
    ['POST', '/auth/login', { body: secret('password', 'instead of JSON') }],
    ['POST', '/auth/login', { body: { ...inBody('in a body too large'), more: 'x'.repeat(1_100_000) } }],
    ['POST', '/auth/login', { body: { ...inBody('among too many'), ...many } }],
    ['POST', '/auth/login', { body: deep }],
    [
      'POST',
      '/auth/login',
      {
        body: new URLSearchParams(inBody('in a form')).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    ],
    ['POST', '/auth/mfa/verify', { body: { tempToken: secret('tempToken', 'unknown'), code: '000000' } }],
    [
      'POST',
      '/auth/mfa/verify',
      {
        body: { tempToken: secret('tempToken', 'with no code'), code: secret('recovery code', 'of no form') },
      },
    ],
    ['POST', '/auth/mfa/sms/send', { body: { tempToken: secret('tempToken', 'of nobody') } }],
    ['POST', '/auth/refresh', { body: { refreshToken: secret('refresh token', 'unknown') } }],
    [
      'POST',
      '/auth/reset-password',
      { body: { token: secret('token of a link', 'unknown'), password: secret('password', 'by no link') } },
    ],
    [
      'POST',
      '/auth/accept-invite',
      { body: { token: secret('token of a link', 'of nobody'), password: secret('password', 'of nobody') } },
    ],
    ['POST', '/auth/invite/preview', { body: { token: secret('token of a link', 'looked at') } }],
    ['POST', '/agents/enroll', { body: { ...machine, enrollmentKey: secret('enrollment key', 'unknown') } }],
    [
      'POST',
      '/agents/enroll',
      { body: { enrollmentKey: secret('enrollment key', 'of no machine'), publicKey: 'no key' } },
    ],
  ]
}

/** Headers, in any case, and all that can stand in a path or a query. */
function lines(token: (kind: KindName, what: string) => string): Refused[] {
  const [inQuery, inPath] = [token('access token', 'in a query'), token('API key', 'in a path')]
  return [
    ['GET', '/devices', { headers: { AUTHORIZATION: `bEaReR ${token('access token', 'in another case')}` } }],
    [
      'GET',
      '/devices',
      {
        headers: {
          aUTHORIZATION: `Basic ${Buffer.from(`me:${token('password', 'for Basic')}`).toString('base64')}`,
        },
      },
    ],
    ['GET', '/devices', { headers: { Authorization: token('access token', 'of no scheme') } }],
    ['GET', '/devices', { headers: { 'X-API-Key': token('API key', 'of no form') } }],
    ['GET', '/devices', { headers: { 'x-api-key': token('API key', 'that nobody has') } }],
    [
      'POST',
      '/auth/refresh',
      { headers: { Cookie: `svc_refresh_token=${token('refresh token', 'in a cookie')}` } },
    ],
    [
      'POST',
      '/auth/refresh',
      {
        headers: {
          cookie: `svc_refresh_token=${token('refresh token', 'of another page')}; svc_csrf_token=${token('CSRF token', 'in a cookie')}`,
          'x-svc-csrf': token('CSRF token', 'of another page'),
        },
      },
    ],
    ['GET', `/devices?token=${inQuery}`],
    ['GET', `/devices?access_token=${inQuery}&limit=0`],
    ['GET', `/devices/${inPath}`],
    ['GET', `/devices/%zz${inPath}`],
    ['GET', `/devices/${inPath}%00`],
    ['GET', `/devices/${'x'.repeat(600)}${inPath}`],
    ['GET', `/agents/download/linux/${inPath}`],
    ['GET', `/${inPath}`],
    ['PUT', `/auth/login?token=${inQuery}`],
    ['DELETE', `/api-keys/${inPath}?key=${inQuery}`],
  ]
}

/** Everything that the API refuses. */
export async function isRefused(stage: Stage, admin: Person): Promise<void> {
  const { client, canaries } = stage
  const token = (kind: KindName, what: string) =>
    what === 'that nobody has'
      ? canaries.shown(kind, what, makeApiKey())
      : canaries.choose(kind, what, chosenToken)
  const all = [...bodies((kind, what) => canaries.choose(kind, what)), ...lines(token)]
  for (const [method, path, asking = {}] of all) {
    for (const headers of path.startsWith('/auth') ? [{}] : [{}, admin.bearer]) {
      const { status } = await client.ask(method, path, {
        ...asking,
        headers: { ...headers, ...asking.headers },
      })
      if (status < 400 || status >= 500)
        throw new Error(`${method} ${path.slice(0, 40)} is ${status}, no refusal`)
    }
  }
}

/** Bytes that are no HTTP, with a credential in them, on every port that speaks it; and a stranger on the ports of gateways. */
export async function talksNonsense(stage: Stage, ports: Record<string, number>): Promise<void> {
  const { canaries, client, edgeSharedKey } = stage
  for (const [name, port] of Object.entries(ports)) {
    const secret = canaries.choose('EDGE_SHARED_KEY', `in no HTTP, on ${name}`, chosenToken)
    const head = `GET /x?token=${secret} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n`
    for (const rest of [
      'no header\r\n\r\n',
      `x: ${'y'.repeat(20_000)}\r\n\r\n`,
      'content-length: no number\r\n\r\n',
    ])
      client.refusals.push({ asked: `nonsense on ${name}`, answer: await talkNonsense(port, head + rest) })
  }
  const internal = new Client(`http://127.0.0.1:${ports['internal']}`)
  const wrong = canaries.choose('EDGE_SHARED_KEY', 'that is wrong', chosenToken)
  const protobuf = { 'content-type': 'application/x-protobuf' }
  for (const [key, status] of [
    [wrong, 401],
    [edgeSharedKey, 400],
  ] as const) {
    const headers = { ...protobuf, AUTHORIZATION: `Bearer ${key}` }
    await internal.want(status, 'POST', `/internal/edge/exchange?key=${wrong}`, {
      body: 'no protobuf',
      headers,
    })
  }
  client.refusals.push(...internal.refusals)
}

const refusedWith = (url: string, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, 'svc.agent.v1', { headers })
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0)
      socket.terminate()
    })
    socket.once('open', () => reject(new Error(`${url} lets a stranger in`)))
    socket.once('error', reject)
  })

/** Upgrades and MQTT connections that are refused: with a token of a device that does not exist, of no form, or in the wrong place. */
export async function knocksAtGateways({ system, canaries }: Stage): Promise<void> {
  const [webSocket = ''] = system.gatewayUrls
  const [mqtt = ''] = system.mqttUrls
  const ofNobody = canaries.shown('device token', 'of no device', makeDeviceToken(uuid()))
  const noToken = canaries.choose('device token', 'of no form', chosenToken)
  const attempts = [
    await refusedWith(webSocket, { AUTHORIZATION: `bEARER ${noToken}` }),
    await refusedWith(`${webSocket}?token=${noToken}`, {}),
  ]
  if (attempts.some((status) => status < 400 || status >= 500))
    throw new Error(`refused with ${attempts.join()}`)
  // Of the right form: it is let as far as its greeting.
  if (await isAdmitted(webSocket, ofNobody)) throw new Error(`${webSocket} lets a stranger in`)
  for (const url of [mqtt, webSocket.replace('/agent', '/mqtt')]) {
    const attempts = [ofNobody, canaries.choose('device token', `for ${url}`)]
    for (const password of attempts)
      if (await isAdmittedWith(url, password)) throw new Error(`${url} lets a stranger in`)
  }
}

const isAdmittedWith = async (url: string, password: string): Promise<boolean> => {
  const clientId = deviceIdOf(password) ?? uuid()
  const device = { clientId, username: clientId, password, protocolVersion: 4 as const }
  return connectAsync(url, { ...device, reconnectPeriod: 0 }).then(
    (client) => client.endAsync(true).then(() => true),
    () => false,
  )
}
