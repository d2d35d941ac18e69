import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { derivedUses, sealedPlaces } from '../../src/engines/secrets/register.ts'
import { databaseForFile } from '../harness/database.ts'
import { sources } from './secrets/surface.ts'
import { type Column, readColumns } from './tenancy/catalogue.ts'

const database = await databaseForFile()
const sql = postgres(database.url, { onnotice: () => undefined })
const columns = await readColumns(sql)
afterAll(() => sql.end())

/** Digests: what is kept of a secret that its owner shows again. Nothing opens them, whatever becomes of the master key. */
const digests = [
  'api_keys.key_hash',
  'audit_heads_owed.hash',
  'audit_seal.hash',
  'device_inventory.hash',
  'device_past_tokens.token_sha256',
  'devices.next_token_sha256',
  'devices.token_sha256',
  'enrollment_keys.key_hash',
  'idempotency.body_hash',
  'idempotency.key_hash',
  'invitations.token_hash',
  'mfa_challenges.invite_hash',
  'mfa_challenges.token_hash',
  'mfa_setups.recovery_code_hashes',
  'rate_limits.subject',
  'refresh_tokens.retry_key_hash',
  'refresh_tokens.token_hash',
  'sso_codes.browser_hash',
  'sso_codes.code_hash',
  'sso_logins.browser_hash',
  'sso_logins.state_hash',
  'user_tokens.token_hash',
  'users.password_hash',
  'users.recovery_code_hashes',
]

/** Bytes, and texts that sound like a secret, that are neither; each with its reason. */
const reasoned: Record<string, string> = {
  'commands.stderr': 'what a machine printed',
  'commands.stdout': 'what a machine printed',
  'devices.credential_version': 'a number',
  'devices.hostname_key': 'what lists sort by',
  'devices.public_key': 'public',
  'devices.next_token_at': 'a time',
  'devices.token_generation': 'counts tokens',
  'devices.token_issued_at': 'a time',
  'schedule_entries.key': 'what an entry is for',
  'idempotency.answer': 'under a key of the client’s Idempotency-Key and derived use `idempotency`: 24 hours',
  'mfa_challenges.sms_code_hash': 'under derived use `sms-code`: 10 minutes',
  'mfa_setups.secret_under': 'the id of a key',
  'phone_codes.code_hash': 'under derived use `sms-code`: 10 minutes',
  'refresh_tokens.retry_answer': 'under the client’s own token and Idempotency-Key: 30 seconds',
  'releases.manifest': 'public',
  'releases.signature': 'public',
  'revocations.credential_version': 'a number',
  'sso_logins.sealed_under': 'the id of a key',
  'sso_providers.client_secret_under': 'the id of a key',
  'users.password_changed_at': 'a time',
  'users.phone_number':
    'personal and no secret: messages go there, and the interface shows it to who may see the user',
  'users.totp_last_step': 'a number',
  'users.totp_secret_under': 'the id of a key',
  'phone_codes.phone_number': 'as users.phone_number',
}

/** Words that secrets are called by. */
const sounds =
  /secret|token|password|passphrase|credential|private|community|phone|totp|sealed|cipher|(^|_)pin$|(^|_)key$|recovery_codes$/

const suspectsOf = (all: readonly Pick<Column, 'table' | 'name' | 'type'>[]) =>
  all
    .filter(
      ({ name, type }) =>
        type.startsWith('bytea') || (sounds.test(name) && !['uuid', 'boolean'].includes(type)),
    )
    .map(({ table, name }) => `${table}.${name}`)

/** Places that are columns of ours: a job's payload is none. */
const places = Object.keys(sealedPlaces).filter((place) => place !== 'jobs.mail')
const unaccounted = (all: readonly Pick<Column, 'table' | 'name' | 'type'>[]) =>
  suspectsOf(all).filter(
    (name) => !places.includes(name) && !digests.includes(name) && !Object.hasOwn(reasoned, name),
  )

test('each column that may hold a secret is sealed, a digest, or has its reason here', () => {
  expect(
    unaccounted(columns),
    'seal it and add it to engines/secrets/register.ts, or say here why not',
  ).toEqual([])
  const there = suspectsOf(columns)
  const all = [...places, ...digests, ...Object.keys(reasoned)]
  expect(all.filter((name) => !there.includes(name))).toEqual([])
  expect(all.length).toBe(new Set(all).size)
})

/** Columns that a sealed one's key is a reference of: the database itself keeps a key that is needed. */
const guarded = async () =>
  (
    await sql<{ guarded: string }[]>`
      select c.relname || '.' || a.attname as guarded
      from pg_constraint f join pg_class c on c.oid = f.conrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = any(f.conkey)
      where f.contype = 'f' and f.confrelid = 'svc.sealing_keys'::regclass and a.attgenerated = 's'`
  )
    .map((row) => row.guarded)
    .sort()

test('each sealed column has one beside it that refers to the key', async () => {
  const sealed = places.filter((place) => place !== 'sealing_keys.proof')
  expect(await guarded()).toEqual(sealed.map((place) => `${place}_under`).sort())
})

const programs = sources('control-plane/src')
const text = programs.map((source) => source.text).join('\n')
const placesIn = (source: string) =>
  [...source.matchAll(/table: '(\w+)',\s*column: '(\w+)'/g)].map(([, table, column]) => `${table}.${column}`)
const usesIn = (source: string) =>
  [...source.matchAll(/\bderive(?:All|dAll)?\('([\w-]+)'\)/g)].map(([, use]) => String(use))
const inOrder = (names: readonly string[]) => [...new Set(names)].sort()

test('each place that the source seals for is in the register, whatever it is kept in', () => {
  const known = inOrder(Object.keys(sealedPlaces))
  const written = inOrder(placesIn(text))
  expect(written.filter((place) => !known.includes(place))).toEqual([])
  // What moves to another place as it is was sealed for that one.
  expect(known.filter((place) => !written.includes(place))).toEqual(['mfa_setups.secret'])
})

test('each use that a key is derived for says what a rotation means for it', () => {
  expect(inOrder(usesIn(text))).toEqual(inOrder(Object.keys(derivedUses)))
})

test('nothing outside the engine encrypts by itself, but answers under the client’s own key', () => {
  const ciphers = programs.filter((source) => /create(Cipheriv|Decipheriv)\(/.test(source.text))
  expect(ciphers.map(({ name }) => name.replace('control-plane/src/', '')).sort()).toEqual([
    'areas/access/auth/session/retry.ts',
    'engines/secrets/envelope.ts',
    'kernel/idempotency.ts',
  ])
})

test('a sealed column, a place and a use that is new is found', async () => {
  const added = [
    { table: 'hooks', name: 'signing', type: 'bytea' },
    { table: 'hooks', name: 'client_secret', type: 'text' },
    { table: 'hooks', name: 'title', type: 'text' },
  ]
  expect(unaccounted([...columns, ...added])).toEqual(['hooks.signing', 'hooks.client_secret'])
  expect(placesIn("({ table: 'hooks',\n  column: 'signing', row })")).toEqual(['hooks.signing'])
  expect(usesIn("secrets.derive('state'), secrets.derivedAll('other')")).toEqual(['state', 'other'])
  await sql.unsafe(`alter table svc.sites add column pass bytea,
    add column pass_under text generated always as (svc.sealed_under(pass)) stored references svc.sealing_keys (key_id)`)
  expect(unaccounted(await readColumns(sql))).toEqual(['sites.pass'])
  expect(await guarded()).toContain('sites.pass_under')
})
