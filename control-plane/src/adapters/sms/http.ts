import { post } from './post.ts'
import type { Sms } from './sms.ts'

export interface HttpSmsOptions {
  /** gets `POST {"to", "from", "text"}` with `Authorization: Bearer`; any 2xx means taken */
  url: string
  token: string
  /** number or name that it comes from; undefined: the provider's default */
  from: string | undefined
}

/** A provider, or a bridge to one, that takes a JSON object. */
export const httpSms = ({ url, token, from }: HttpSmsOptions): Sms => ({
  send: (to, text) =>
    post({
      url,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to, text, ...(from !== undefined && { from }) }),
      credentials: [token],
      text,
    }),
})
