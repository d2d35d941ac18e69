import type { Mailer } from './mail/mail.ts'
import type { Sms } from './sms/sms.ts'

/** What would have left the house, for whoever runs the server to read. */
export interface Shown {
  by: 'mail' | 'sms'
  to: string
  /** a mail's subject, a text message's words */
  text: string
  link: string | null
}

/** Shows it, such as on a terminal. Never used in production: a link or a code opens an account. */
export type Show = (shown: Shown) => void

/** Without a mail server: each mail is shown to the host. */
export const shownMail = (show: Show): Mailer => ({
  send: async ({ to, subject, link }) => show({ by: 'mail', to: to.address, text: subject, link }),
  close: () => undefined,
})

/** The driver `log`: each text message is shown to the host. */
export const shownSms = (show: Show): Sms => ({
  send: async (to, text) => show({ by: 'sms', to, text, link: null }),
})
