import type { SecretPlace } from '../../adapters/secrets.ts'
import type { Db } from '../../kernel/tenancy.ts'

/** A sealed value as it lies in the database. */
export interface Sealed {
  /** the row's key, as text */
  row: string
  sealed: Uint8Array
}

/** A place where sealed values lie for long: how all are found that one key sealed, and one is exchanged. */
export interface SealedPlace {
  /** what its values were sealed for */
  of(row: string): SecretPlace
  /** those under a key, by row, of rows behind `after` (null: from the first) */
  next(db: Db, keyId: string, after: string | null, limit: number): Promise<Sealed[]>
  /** 1, or 0 where it is not any more what it was: then somebody else has sealed it anew, or removed it */
  replace(db: Db, was: Sealed, fresh: Buffer): Promise<number>
}

/** What ends by itself before a key may go: counted, and never written, since its readers compare it. */
export interface ShortLived {
  endsWithin: string
}

/**
 * Every place of sealed values, `table.column`: the one list. `test/contract/sealed.db.test.ts` compares it with the schema and the
 * source; a column has a generated one beside it, `<column>_under`, that refers to the key.
 */
export const sealedPlaces: Record<string, SealedPlace | ShortLived> = {
  'users.totp_secret': {
    of: (row) => ({ table: 'users', column: 'totp_secret', row, org: null }),
    next: (db, keyId, after, limit) => db.rows<Sealed>`
      select id as row, totp_secret as sealed from users
      where totp_secret_under = ${keyId} and (${after}::uuid is null or id > ${after}::uuid) order by id limit ${limit}`,
    replace: (db, { row, sealed }, fresh) => db.run`
      update users set totp_secret = ${fresh} where id = ${row} and totp_secret = ${sealed}`,
  },
  // of an organization, so the key of a row is both: `id/org`
  'sso_providers.client_secret': {
    of: (key) => {
      const [row = '', org = ''] = key.split('/')
      return { table: 'sso_providers', column: 'client_secret', row, org }
    },
    next: (db, keyId, after, limit) => db.rows<Sealed>`
      select p.id || '/' || p.org_id as row, p.client_secret as sealed from sso_providers p
      where ${db.visible('p')} and p.client_secret_under = ${keyId} and (${after}::text is null or p.id > split_part(${after}, '/', 1)::uuid)
      order by p.id limit ${limit}`,
    replace: (db, { row, sealed }, fresh) => db.run`
      update sso_providers p set client_secret = ${fresh}
      where ${db.visible('p')} and p.id = split_part(${row}, '/', 1)::uuid and p.client_secret = ${sealed}`,
  },
  // nonce and verifier of a login that is under way
  'sso_logins.sealed': { endsWithin: '10 minutes' },
  // confirming one moves it into `users` where it is still what was checked
  'mfa_setups.secret': { endsWithin: '10 minutes' },
  'mfa_setups.recovery_codes': { endsWithin: '10 minutes' },
  // the payload of a job that waits: base64 in JSON
  'jobs.mail': {
    of: (row) => ({ table: 'jobs', column: 'mail', row, org: null }),
    next: (db, keyId, after, limit) => db.rows<Sealed>`
      select j.payload ->> 'id' as row, decode(j.payload ->> 'sealed', 'base64') as sealed
      from graphile_worker._private_jobs j
      where j.task_id = (select t.id from graphile_worker._private_tasks t where t.identifier = 'mail.send')
        and sealed_under(decode(j.payload ->> 'sealed', 'base64')) = ${keyId}
        and (${after}::uuid is null or (j.payload ->> 'id')::uuid > ${after}::uuid)
      order by (j.payload ->> 'id')::uuid limit ${limit}`,
    replace: (db, { row, sealed }, fresh) => db.run`
      update graphile_worker._private_jobs j
      set payload = jsonb_set(j.payload::jsonb, '{sealed}', to_jsonb(${fresh.toString('base64')}::text))::json
      where j.task_id = (select t.id from graphile_worker._private_tasks t where t.identifier = 'mail.send')
        and j.payload ->> 'id' = ${row} and decode(j.payload ->> 'sealed', 'base64') = ${sealed}`,
  },
  // one of each key, under that key: it goes with it
  'sealing_keys.proof': { endsWithin: 'with its key' },
}

/**
 * What is under each key, by place. Counted by the database alone, from what the values name.
 */
export const countSealed = (db: Db) => db.rows<{ place: string; keyId: string; n: number }>`
  select place, key_id, count(*)::int as n from (
    select 'users.totp_secret' as place, totp_secret_under as key_id from users
    union all select 'sso_providers.client_secret', p.client_secret_under from sso_providers p where ${db.visible('p')}
    union all select 'sso_logins.sealed', sealed_under from sso_logins
    union all select 'mfa_setups.secret', secret_under from mfa_setups
    union all select 'mfa_setups.recovery_codes', recovery_codes_under from mfa_setups
    union all select 'jobs.mail', sealed_under(decode(payload ->> 'sealed', 'base64'))
      from graphile_worker._private_jobs where payload ->> 'sealed' is not null
  ) sealed where key_id is not null group by place, key_id order by place, key_id`

/**
 * What keys are derived for (`Secrets.derive`), and what a rotation means for it: each key that lives is tried, so nothing ends before
 * the key it was made under goes. Compared with the source by the same test.
 */
export const derivedUses: Record<string, { lives: string; afterRetirement: string }> = {
  cursor: { lives: 'as long as a client keeps it', afterRetirement: '400: the list begins anew' },
  idempotency: { lives: '24 hours', afterRetirement: 'none is left' },
  'sms-code': { lives: '10 minutes', afterRetirement: 'none is left' },
}

/** A key that has stopped sealing stays for so long: the longest life of {@link derivedUses} that promises something. */
export const retiresAfter = '24 hours'
