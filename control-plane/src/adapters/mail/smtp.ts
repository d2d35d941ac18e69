import { withheld } from '../withheld.ts'
import { type Mailer, MailRefused, type Message } from './mail.ts'

export interface SmtpOptions {
  /** `smtp://user:password@host:587` (STARTTLS) or `smtps://` (TLS from the start) */
  url: string
  /** `Name <address>` or an address */
  from: string
}

/** A server that does not answer costs a job this long at most. */
const timeouts = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 30_000,
  dnsTimeout: 10_000,
}
/** Bursts of invitations go over few connections. */
const pool = { pool: true, maxConnections: 2, maxMessages: 100 } as const

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** Parts of the URL, decoded. Beyond this machine a link is never sent in the clear: a server without STARTTLS is refused. */
function serverOf(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const secure = protocol === 'smtps:'
  return {
    host,
    ...(port !== '' && { port: Number(port) }),
    secure,
    requireTLS: !secure && !loopback.test(host),
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
  }
}

const domainOf = (from: string) => /@([^\s>]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'

/** Its code is loaded with the first mail: most processes never send one. */
async function connect(url: string) {
  const { createTransport } = await import('nodemailer')
  // Nothing that a mail says makes this process open a file or an address.
  const closed = { disableFileAccess: true, disableUrlAccess: true }
  const transport = createTransport({ ...serverOf(url), ...pool, ...timeouts, ...closed })
  // A connection that breaks while nothing is sent: the next mail makes another.
  transport.on('error', () => undefined)
  return transport
}

/** Mail by SMTP (RFC 5321), over connections that are made when they are needed. */
export function smtpMail({ url, from }: SmtpOptions): Mailer {
  let connected: ReturnType<typeof connect> | undefined
  const { auth } = serverOf(url)
  // As AUTH LOGIN and AUTH PLAIN (RFC 4616) say it.
  const credentials = auth ? [auth.pass, `\0${auth.user}\0${auth.pass}`] : []
  const send = async ({ id, to, subject, text, html, link }: Message) => {
    const transport = await (connected ??= connect(url))
    try {
      await transport.sendMail({
        from,
        to,
        subject,
        text,
        html,
        messageId: `<${id}@${domainOf(from)}>`,
        // RFC 3834: no vacation notices for these.
        headers: { 'auto-submitted': 'auto-generated' },
      })
    } catch (error) {
      throw failed(error, [...secretsIn(link), ...credentials])
    }
  }
  return { send, close: () => void connected?.then((transport) => transport.close()) }
}

/** The link, and the token in its fragment by itself. */
const secretsIn = (link: string | null) =>
  link === null ? [] : [link, ...new URLSearchParams(new URL(link).hash.slice(1)).values()]

/**
 * A refusal of the recipient is final; one of us (password, policy at connect) is the operator's to mend, and may pass. Servers quote what
 * they refuse, and what is said here goes into logs and into the job's row: the library's error, with all of its answer, stays here.
 */
function failed(error: unknown, secrets: readonly string[]): Error {
  const { permanent, code, message } = error as { permanent?: boolean; code?: string; message: string }
  const ours = code === 'EAUTH' || code === 'ENOAUTH'
  const said = withheld(message, secrets)
  return permanent === true && !ours ? new MailRefused(said) : Object.assign(new Error(said), { code })
}
