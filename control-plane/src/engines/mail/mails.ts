import { z } from 'zod'

/** What a mail says. Plain sentences; they are escaped where they become HTML. */
export interface Words {
  subject: string
  lines: readonly string[]
  /** the one thing to do, and until when it can be done */
  action?: { label: string; link: string; until: Date }
  /** the last sentence: why this came, or what to do if it should not have */
  ending: string
}

const link = { link: z.url(), until: z.coerce.date() }
const when = { at: z.coerce.date() }

const kind = <Schema extends z.ZodObject>(data: Schema, words: (data: z.output<Schema>) => Words) => ({
  data,
  words,
})

const notYou =
  'If this was not you, reset your password at once, and tell your administrator. Nobody of us will ever ask for it.'
const ignore = 'If you did not ask for this, ignore this mail: nothing changes.'

/**
 * Every mail that is sent, by name: what it needs, and what it says. Nothing that a stranger typed stands in a mail to somebody
 * else: forms that need no login must not carry messages.
 */
export const mails = {
  invite: kind(z.object({ ...link, tenant: z.string(), invitedBy: z.string() }), (it) => ({
    subject: `You are invited to ${it.tenant}`,
    lines: [
      `${it.invitedBy} invites you to ${it.tenant}.`,
      'If you have an account for this address, its password or login accepts; if not, you choose a password.',
    ],
    action: { label: 'Accept the invitation', link: it.link, until: it.until },
    ending: ignore,
  })),
  'reset-password': kind(z.object(link), (it) => ({
    subject: 'Reset your password',
    lines: ['Somebody, perhaps you, asked for a new password of your account.'],
    action: { label: 'Choose a new password', link: it.link, until: it.until },
    ending: ignore,
  })),
  'password-changed': kind(z.object(when), (it) => ({
    subject: 'Your password was changed',
    lines: [`The password of your account was changed at ${moment(it.at)}. All sessions have ended.`],
    ending: notYou,
  })),
  'factor-changed': kind(z.object({ ...when, what: z.string() }), (it) => ({
    subject: 'Your second factor was changed',
    lines: [`${it.what}, at ${moment(it.at)}.`],
    ending: notYou,
  })),
  'account-made': kind(z.object({}), () => ({
    subject: 'Your account',
    lines: ['An account was made for this address. It belongs to no organization yet: ask to be invited.'],
    ending: 'If this was not you, reset the password: then the account is yours alone.',
  })),
  'account-exists': kind(z.object({}), () => ({
    subject: 'You have an account already',
    lines: [
      'Somebody, perhaps you, tried to register with this address. It has an account already, and nothing was changed.',
      'If you do not know its password any more, ask for a new one where you log in.',
    ],
    ending: ignore,
  })),
} as const

export type MailKind = keyof typeof mails
/** What a kind of mail needs, as its author gives it. */
export type MailData<K extends MailKind> = z.input<(typeof mails)[K]['data']>

export const mailKinds = Object.keys(mails) as [MailKind, ...MailKind[]]

/** The words of a mail from what was stored of it. @throws ZodError */
export const wordsOf = (name: MailKind, data: unknown): Words => {
  const { data: schema, words } = mails[name] as { data: z.ZodObject; words: (data: unknown) => Words }
  return words(schema.parse(data))
}

/** Nobody knows the reader's zone: UTC, and it says so. */
export const moment = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
