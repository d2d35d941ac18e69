import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Caller } from './context.ts'
import { ApiError } from './errors.ts'
import type { Route } from './route.ts'
import type { Db, Scope } from './tenancy.ts'

/** An answer is kept this long (promise P10). */
const keptFor = '24 hours'
const systemPartner = '00000000-0000-0000-0000-000000000000'
const keyForm = /^[\x21-\x7e]{1,255}$/

/** What a request with an `Idempotency-Key` is known by. */
export interface IdempotentRequest {
  key: string
  partnerId: string
  caller: string
  route: string
  bodyHash: Buffer
}

/** A remembered answer. */
export interface Remembered {
  status: number
  text: string
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/**
 * The request's identity, or undefined when it carries no key or is not remembered: without a scope there is nobody to remember
 * it for.
 *
 * @throws ApiError VALIDATION_ERROR for a key that is not 1 to 255 visible characters
 */
export function idempotentRequest(
  route: Route,
  caller: Caller,
  scope: Scope,
  request: { key: string | undefined; url: string; body: unknown },
): IdempotentRequest | undefined {
  const { key } = request
  if (key === undefined || !route.idempotent || scope.kind === 'nobody') return undefined
  if (!keyForm.test(key)) {
    throw new ApiError('VALIDATION_ERROR', 'the Idempotency-Key is not valid', {
      details: [{ in: 'header', field: 'Idempotency-Key', message: '1 to 255 visible ASCII characters' }],
    })
  }
  return {
    key,
    partnerId: scope.kind === 'tenant' ? scope.partnerId : systemPartner,
    caller: nameOf(caller),
    route: `${route.method} ${route.path}`,
    bodyHash: sha256(JSON.stringify([request.url, request.body ?? null, ...seenBy(scope)])),
  }
}

/**
 * What somebody sees who does not see the whole of a partner: an answer from before they lost some of it is not for them any more, and the
 * request was another one.
 */
function seenBy(scope: Scope): unknown[] {
  if (scope.kind !== 'tenant') return []
  const { orgs, siteIds, deviceGroupIds } = scope
  return orgs === 'all' && !siteIds && !deviceGroupIds ? [] : [orgs, siteIds, deviceGroupIds]
}

/** Of somebody who belongs to several organizations each login is another caller: what one was answered is not for the other. */
function nameOf({ actor, membership }: Caller): string {
  const name = 'id' in actor ? `${actor.type}:${actor.id}` : actor.type
  return membership?.kind === 'organization' ? `${name}@${membership.id}` : name
}

/** The first seals answers that show a secret, all open them: a master key may have been exchanged within the day. */
export type SealKeys = () => readonly Buffer[]

interface Row {
  status: number
  answer: Uint8Array
  sealed: boolean
  bodyHash: Uint8Array
}

/**
 * Claims the key in this transaction. A parallel request with the same key waits here until the first has committed (then it gets
 * its answer) or rolled back (then it runs).
 *
 * @returns the answer to repeat, or undefined: go on
 * @throws ApiError IDEMPOTENCY_MISMATCH
 */
export async function claim(
  db: Db,
  request: IdempotentRequest,
  sealKeys: SealKeys,
): Promise<Remembered | undefined> {
  const { partnerId, caller, route, bodyHash } = request
  const keyHash = sha256(request.key)
  const mine = await db.run`
    insert into idempotency as i (partner_id, caller, route, key_hash, body_hash)
    values (${partnerId}, ${caller}, ${route}, ${keyHash}, ${bodyHash})
    on conflict (partner_id, caller, route, key_hash) do update
      set body_hash = excluded.body_hash, status = null, answer = null, created_at = now()
      where i.created_at < now() - ${keptFor}::interval`
  if (mine > 0) return undefined
  const row = await db.one<Row>`
    select status, answer, sealed, body_hash from idempotency
    where partner_id = ${partnerId} and caller = ${caller} and route = ${route} and key_hash = ${keyHash}`
  if (!row || !Buffer.from(row.bodyHash).equals(bodyHash)) {
    throw new ApiError(
      'IDEMPOTENCY_MISMATCH',
      'the Idempotency-Key was used before with a different request, or with a different view',
    )
  }
  const answer = Buffer.from(row.answer)
  return { status: row.status, text: row.sealed ? unseal(answer, request, sealKeys) : answer.toString() }
}

/** Remembers the answer, in the transaction that made it true. */
export function remember(
  db: Db,
  request: IdempotentRequest,
  answer: Remembered,
  sealKeys: SealKeys | undefined,
): void {
  const bytes = sealKeys ? seal(answer.text, request, sealKeys) : Buffer.from(answer.text)
  db.later`
    update idempotency set status = ${answer.status}, answer = ${bytes}, sealed = ${sealKeys !== undefined}
    where partner_id = ${request.partnerId} and caller = ${request.caller} and route = ${request.route}
      and key_hash = ${sha256(request.key)}`
}

/** Only who has the Idempotency-Key, of which we keep a digest, and our own secret can open a once-shown answer again. */
const answerKey = ({ key, caller, route }: IdempotentRequest, sealKey: Buffer) =>
  Buffer.from(hkdfSync('sha256', key, sealKey, `${caller}|${route}`, 32))

function seal(text: string, request: IdempotentRequest, sealKeys: SealKeys): Buffer {
  const [first] = sealKeys()
  if (!first) throw new Error('no key seals answers')
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', answerKey(request, first), nonce)
  const sealed = Buffer.concat([cipher.update(text), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Which of them sealed it is found by trying: there are two at most, and none opens what another sealed. */
function unseal(bytes: Buffer, request: IdempotentRequest, sealKeys: SealKeys): string {
  let failure: unknown
  for (const sealKey of sealKeys()) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', answerKey(request, sealKey), bytes.subarray(0, 12))
      decipher.setAuthTag(bytes.subarray(12, 28))
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString()
    } catch (error) {
      failure = error
    }
  }
  throw failure
}
