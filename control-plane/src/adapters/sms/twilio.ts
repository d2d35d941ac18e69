import { post } from './post.ts'
import type { Sms } from './sms.ts'

export interface TwilioOptions {
  /** of the REST API, such as https://api.twilio.com */
  url: string
  /** the account's SID */
  account: string
  token: string
  /** E.164, or the SID of a messaging service (`MG…`) */
  from: string
}

/** Twilio's Messages resource, version 2010-04-01, which other providers speak as well: a form, with basic authentication. */
export function twilioSms({ url, account, token, from }: TwilioOptions): Sms {
  const address = `${url.replace(/\/+$/, '')}/2010-04-01/Accounts/${encodeURIComponent(account)}/Messages.json`
  const headers = {
    authorization: `Basic ${Buffer.from(`${account}:${token}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  }
  const sender = from.startsWith('MG') ? { MessagingServiceSid: from } : { From: from }
  return {
    send: (to, text) =>
      post({
        url: address,
        headers,
        body: new URLSearchParams({ To: to, ...sender, Body: text }).toString(),
        credentials: [token, `${account}:${token}`],
        text,
      }),
  }
}
