import { createHmac, randomBytes } from 'node:crypto'

/** One attempt to deliver a message (Standard Webhooks). */
export interface Delivery {
  /** of the message, the same for every attempt; without a dot */
  id: string
  /** of this attempt */
  at: Date
  body: string | Uint8Array
  /** `whsec_…`, as {@link newWebhookSecret} makes them; while one replaces another both */
  secrets: readonly string[]
}

const prefix = 'whsec_'
/** Standard Webhooks §Signature scheme: of symmetric secrets. */
const [leastBytes, mostBytes, ownBytes] = [24, 64, 32]

/** A secret that a receiver verifies deliveries with, in the form that libraries for Standard Webhooks take. */
export const newWebhookSecret = (): string => prefix + randomBytes(ownBytes).toString('base64')

/** @throws Error that does not show it, for what is no such secret */
function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(prefix.length), 'base64')
  const canonical = secret === prefix + key.toString('base64')
  if (!canonical || key.length < leastBytes || key.length > mostBytes)
    throw new Error(`a webhook secret is ${prefix} and ${leastBytes} to ${mostBytes} bytes in base64`)
  return key
}

/**
 * The headers that prove a delivery: the receiver recomputes the HMAC-SHA256 of `id.timestamp.body`, takes any of the signatures, and
 * refuses old timestamps (https://www.standardwebhooks.com).
 *
 * @throws Error for an id with a dot, no secret, or one that is none
 */
export function signWebhook({ id, at, body, secrets }: Delivery): Record<string, string> {
  if (!/^[\w-]{1,256}$/.test(id)) throw new Error('the id of a webhook message is letters, digits, _ and -')
  if (secrets.length === 0) throw new Error('a webhook is signed with at least one secret')
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signature = (secret: string) =>
    `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(signature).join(' '),
  }
}
