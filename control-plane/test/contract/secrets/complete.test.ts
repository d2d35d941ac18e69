import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { routes } from '../../../src/areas/index.ts'
import { route } from '../../../src/kernel/route.ts'
import { kinds, type Kind } from './kinds.ts'
import {
  columnsOf,
  cookiesNamed,
  headersRead,
  secretVariables,
  sources,
  suspects,
  textsOf,
  variablesOf,
} from './surface.ts'

const known = (part: keyof Kind) =>
  Object.values(kinds as Record<string, Kind>).flatMap((kind) => kind[part] ?? [])

/** What is like a secret and is none, and why. */
const harmless: Record<'fields' | 'headers' | 'columns' | 'variables', Record<string, string>> = {
  fields: {
    args: 'of a script; the operator’s words to a machine, which those who may read commands read',
    content: 'of a script, likewise',
    companyName: 'shown later as the name of the partner',
    tenantName: 'who invites',
    phoneNumber: 'personal and no secret: whoever may see the account sees its last digits',
    postalCode: 'of an address',
    publicKey: 'public',
    keyId: 'a digest of a public key',
    websocket: 'where gateways are',
    mqtt: 'where gateways are',
    osType: 'one of a few words, in several spellings',
    status: 'one of a few words',
    search: 'what a list is filtered by',
    orgIds: 'what a list is filtered by',
    siteIds: 'what a list is filtered by',
    groupIds: 'what a list is filtered by',
    synced: 'versions of releases',
    actor: 'what the audit log is filtered by',
    excludeActions: 'what the audit log is filtered by',
    q: 'what the audit log is searched for',
    columns: 'names of columns of an export',
    algorithms: 'names of algorithms',
    iss: 'whose answer it is',
    state: 'of keys one of a few words; of a callback good once, in one browser, and in the run',
    message: 'why discovery failed, in words of ours',
    tokenUrl: 'an address that a provider publishes',
  },
  headers: {
    traceparent: 'ids, of callers that are trusted with them',
    'x-request-id': 'likewise',
    'accept-encoding': 'says what the client understands',
    'content-encoding': 'of an answer of somebody else: how it is packed',
    location: 'of an answer of somebody else: where it redirects to, which is not followed',
    'if-none-match': 'names an answer that it has',
    'if-range': 'names an answer that it has',
    range: 'which bytes',
    origin: 'which page',
    'sec-fetch-site': 'which page',
    'sec-websocket-extensions': 'what the client understands',
    'sec-websocket-key': 'random, and for nothing but the handshake (RFC 6455 §4.1)',
    'sec-websocket-protocol': 'what the client speaks; tokens do not go in there',
    'user-agent': 'names a program, and is meant to be in the audit log',
    'x-forwarded-for': 'an address',
  },
  columns: {
    'commands.exit_code': 'a number',
    'commands.stdout': 'what a machine printed; those who may read commands read it',
    'commands.stderr': 'likewise',
    'audit_heads_owed.hash': 'told to everybody who keeps heads',
    'audit_seal.hash': 'of a row, to tell whether it changed',
    'device_inventory.hash': 'of an inventory, to tell whether it changed',
    'devices.hostname_key': 'what lists sort by',
    'devices.credential_version': 'counts tokens',
    'devices.token_issued_at': 'a time',
    'devices.next_token_at': 'a time',
    'devices.token_generation': 'counts tokens',
    'devices.public_key': 'public',
    'idempotency.body_hash':
      'of a request, to tell whether it is the same; those that hold a password take no Idempotency-Key',
    'rate_limits.subject': 'a digest of what is counted by: of random tokens, addresses and e-mails',
    'releases.manifest': 'public',
    'releases.signature': 'public',
    'revocations.credential_version': 'counts tokens',
    'schedule_entries.key': 'what an entry is for',
    'users.password_changed_at': 'a time',
    'users.totp_last_step': 'a number of half minutes',
    'mfa_setups.secret_under': 'the id of a key',
    'sso_providers.client_secret_under': 'the id of a key',
    'users.totp_secret_under': 'the id of a key',
  },
  variables: {
    RELEASE_KEYS: 'public keys',
    TLS_KEY_FILE:
      'a file of the operator’s, handed to the TLS library; its text is never in a value of ours, and it is not in the run',
  },
}

/** Each is either a kind's or has its reason here; no reason is of something that is not there. */
function expectAccounted(found: readonly string[], own: readonly string[], reasons: Record<string, string>) {
  const unaccounted = found.filter((name) => !own.includes(name) && !Object.hasOwn(reasons, name))
  expect(
    unaccounted,
    'add each to a kind in kinds.ts and use it in the run, or say here why it is no secret',
  ).toEqual([])
  expect(Object.keys(reasons).filter((name) => !found.includes(name))).toEqual([])
  expect(own.filter((name) => !found.includes(name))).toEqual([])
}

const texts = textsOf(routes)
const programs = sources('control-plane/src', 'edge-gateway/src')
const text = programs.map((source) => source.text).join('\n')

test('fields', () => expectAccounted(suspects(texts), known('fields'), harmless.fields))
test('headers', () => expectAccounted([...new Set(headersRead(text))], known('headers'), harmless.headers))
test('cookies', () => expectAccounted([...new Set(cookiesNamed(text))], known('cookies'), {}))
test('columns', () => {
  const schema = readFileSync(join(import.meta.dirname, '../../../src/db/schema.sql'), 'utf8')
  expectAccounted(columnsOf(schema), known('columns'), harmless.columns)
})
test('variables', () => {
  const configs = programs.filter(({ name }) => name.endsWith('src/config.ts')).map((source) => source.text)
  const found = configs.flatMap((config) => [...variablesOf(config), ...secretVariables(config)])
  expectAccounted([...new Set(found)].sort(), known('variables'), harmless.variables)
})

test('an answer that shows a secret is never kept for a repetition but sealed', () => {
  const secrets = new Set(known('fields'))
  const shows = texts.filter(
    ({ route, answered }) => route.writes && answered.some((name) => secrets.has(name)),
  )
  expect(shows.length).toBeGreaterThan(5)
  expect(
    shows
      .filter(({ route }) => route.idempotent === true)
      .map(({ route }) => `${route.method} ${route.path}`),
  ).toEqual([])
})

test('no secret is asked for in a path or a query, where proxies write it down', () => {
  const secrets = new Set(known('fields'))
  // RFC 6749 §4.1.2: single use, and worth nothing without our secret and verifier.
  const standard = ['GET /sso/callback: code']
  const inUrl = routes.flatMap(({ method, path, params, query }) => {
    const names = [...Object.keys(params), ...(query instanceof z.ZodObject ? Object.keys(query.shape) : [])]
    return names.filter((name) => secrets.has(name)).map((name) => `${method} ${path}: ${name}`)
  })
  expect(inUrl).toEqual(standard)
})

test('each log of a program is one that leaves secrets out', () => {
  const opens = programs.filter(({ text }) => /\bopenLog\(/.test(text))
  expect(opens.length).toBeGreaterThan(3)
  const others = programs.filter(({ text }) =>
    /\bpino\(|\bfrom 'pino'/.test(text.replaceAll(/^import type .*$/gm, '')),
  )
  expect(others.map(({ name }) => name)).toEqual([])
})

test('a field that is new is found: by what becomes of it, or by its name', () => {
  const common = { can: 'signed-in', summary: 'x', run: () => undefined } as const
  const added = [
    route('POST /things', {
      ...common,
      audit: 'x',
      body: z.object({ passe: z.string(), title: z.string() }),
      returns: z.object({ once: z.string() }),
    }),
    route('GET /things', {
      ...common,
      returns: z.object({ title: z.string(), tokenSecret: z.string(), at: z.iso.datetime() }),
    }),
  ]
  expect(suspects(textsOf(added))).toEqual(['once', 'passe', 'tokenSecret'])
  expect(suspects(textsOf([...routes, ...added])).filter((name) => !suspects(texts).includes(name))).toEqual([
    'once',
    'passe',
    'tokenSecret',
  ])
})

test('a header, a cookie, a column and a variable that is new is found', () => {
  expect(
    headersRead(
      "const { 'x-one': one } = 1; client.header('x-portal-session'); request.headers['x-two']; const { cookie = '' } = request.headers",
    ),
  ).toEqual(expect.arrayContaining(['x-portal-session', 'x-two', 'cookie']))
  expect(cookiesNamed("const portal = 'svc_portal_session'")).toEqual(['svc_portal_session'])
  const table =
    'create table svc.things (\n  id uuid not null,\n  sealed bytea,\n  api_token text,\n  name text\n);\n'
  expect(columnsOf(table)).toEqual(['things.sealed', 'things.api_token'])
  expect(variablesOf('  TURN_SECRET: z.string(),\n  PORT: port,\n')).toEqual(['TURN_SECRET'])
  expect(secretVariables("const secrets = ['TURN_SECRET', 'X'] as const")).toEqual(['TURN_SECRET', 'X'])
})
