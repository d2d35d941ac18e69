import type { Sql } from 'postgres'
import { v7 as uuid } from 'uuid'
import { totpPlace } from '../../src/areas/access/auth/mfa/proof.ts'
import type { Keyring } from '../../src/engines/secrets/keyring.ts'
import { SecretError } from '../../src/adapters/secrets.ts'

/** Users with a sealed value each, and what each is: what tells whether anything was lost. */
export class Values {
  readonly expected = new Map<string, string>()
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async add(ring: Keyring, count: number): Promise<void> {
    const rows = Array.from({ length: count }, () => {
      const id = uuid()
      this.expected.set(id, `${id}: first`)
      return {
        id,
        email: `${id}@example.com`,
        name: 'V',
        totp_secret: ring.seal(`${id}: first`, totpPlace(id)),
      }
    })
    await this.#sql`insert into svc.users ${this.#sql(rows)}`
  }

  /** As a user does who sets up another authenticator. */
  async change(ring: Keyring, id: string, text: string): Promise<void> {
    await this.#sql`update svc.users set totp_secret = ${ring.seal(text, totpPlace(id))} where id = ${id}`
    this.expected.set(id, text)
  }

  /** Each value that is not what it was last made, and under which keys they are. */
  async check(ring: Keyring): Promise<{ lost: string[]; under: string[] }> {
    const rows = await this.#sql<{ id: string; totpSecret: Buffer; under: string }[]>`
      select id, totp_secret, totp_secret_under as under from svc.users where totp_secret is not null`
    const kept = rows.filter(({ id, totpSecret }) => textOf(ring, id, totpSecret) === this.expected.get(id))
    const keptIds = new Set(kept.map(({ id }) => id))
    return {
      lost: [...this.expected.keys()].filter((id) => !keptIds.has(id)),
      under: [...new Set(rows.map(({ under }) => under))].sort(),
    }
  }

  /** Of so many; the rest go. */
  async keep(count: number): Promise<void> {
    const gone = [...this.expected.keys()].slice(count)
    for (const id of gone) this.expected.delete(id)
    await this.#sql`delete from svc.users where id = any(${gone})`
  }

  async left(keyId: string): Promise<number> {
    const [row] = await this.#sql<
      { n: number }[]
    >`select count(*)::int as n from svc.users where totp_secret_under = ${keyId}`
    return row?.n ?? 0
  }
}

function textOf(ring: Keyring, id: string, sealed: Buffer): string | undefined {
  try {
    return ring.open(sealed, totpPlace(id)).toString()
  } catch (error) {
    if (error instanceof SecretError) return undefined
    throw error
  }
}
