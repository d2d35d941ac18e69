import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'

/** A mail server on loopback that wants a password, keeps what it is given, and says again what it refuses, as some do. */
export interface MailServer {
  url: string
  /** from now on every mail is refused for good, and quoted */
  refuse(): void
  /** the token in the last link that was mailed to an address; undefined: none yet */
  tokenFor(address: string): string | undefined
  /** quoted refusals so far */
  readonly refused: number
  close(): Promise<void>
}

const linkIn = (text: string) => /https?:\S+#token=[\w-]+/.exec(text)?.[0]

export async function startMailServer(user: string, password: string): Promise<MailServer> {
  const links = new Map<string, string>()
  let refusing = false
  let refused = 0
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    closeTimeout: 100, // of connections that a pool still holds
    onAuth: (given, _session, done) =>
      given.username === user && given.password === password
        ? done(null, { user })
        : done(new Error('wrong password')),
    onData: (stream, { envelope }, done) => {
      simpleParser(stream, (error, mail) => {
        if (error) return done(error)
        const link = linkIn(mail.text ?? '')
        const [to] = envelope.rcptTo
        if (link && to) links.set(to.address, link)
        if (!refusing || !link) return done(null)
        refused++
        return done(Object.assign(new Error(`5.7.1 blocked: <${link}>`), { responseCode: 554 }))
      })
    },
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  return {
    url: `smtp://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    refuse: () => {
      refusing = true
    },
    get refused() {
      return refused
    },
    tokenFor: (address) => links.get(address)?.split('#token=')[1],
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
