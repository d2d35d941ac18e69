import { createServer, connect, type Server, type Socket } from 'node:net'
import { byWayOf, listening, pass } from './loopback.ts'
import { type Message, Messages } from './messages.ts'
import { Statements } from './statements.ts'

/**
 * What becomes of a COMMIT:
 * - `withheld`: Postgres does not get it, and waits
 * - `unanswered`: it is carried out, and its sender does not hear of it
 * - `cut`: it is carried out, and the moment it is written its sender's connection is reset
 */
export type CommitFate = 'withheld' | 'unanswered' | 'cut'

interface Strike {
  of: RegExp
  fate: CommitFate
  /** it has happened; where it is carried out, that is done */
  struck: () => void
}

/** A wire to Postgres, on loopback, which knows of each COMMIT what it is of, and may strike there. Without TLS. */
export class PostgresLink {
  /** connections stay, and nothing comes through */
  silent = false
  readonly #to: URL
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #hanging: Socket[] = []
  #strikes: Strike[] = []

  private constructor(to: URL) {
    this.#to = to
    this.#server = createServer((near) => this.#join(near))
  }

  static async to(to: string): Promise<PostgresLink> {
    const link = new PostgresLink(new URL(to))
    await listening(link.#server)
    return link
  }

  /** Where it leads, by way of it. */
  get url(): string {
    return byWayOf(this.#server, this.#to)
  }

  /**
   * What the next COMMIT of a transaction with such a statement will meet. Resolves when it has, and where it is carried out, when
   * that is done.
   */
  strike(of: RegExp, fate: CommitFate): Promise<void> {
    return new Promise((struck) => this.#strikes.push({ of, fate, struck }))
  }

  /** Ends all of its connections with a RST. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** As if it were not there; what hangs is cut. */
  heal(): void {
    this.#strikes = []
    this.silent = false
    for (const hanging of this.#hanging.splice(0)) hanging.resetAndDestroy()
  }

  /** Idempotent. */
  close(): void {
    this.#server.close()
    this.cut()
  }

  #join(near: Socket): void {
    const far = connect(Number(this.#to.port), this.#to.hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one)
      one.setNoDelay(true)
      one.on('error', () => undefined) // `close` follows
      one.on('close', () => {
        this.#sockets.delete(one)
        // Where the sender is gone, what it has written is carried out all the same.
        if (other === far) far.end()
        else near.destroy()
      })
    }
    this.#lead(near, far)
  }

  /** Both directions: what comes back depends on what went. */
  #lead(near: Socket, far: Socket): void {
    const statements = new Statements()
    const [up, down] = [new Messages(true), new Messages(false)]
    let fate: Strike | undefined
    near.on('data', (chunk) => {
      if (this.silent) return
      const passing: Message[] = []
      for (const message of up.push(chunk)) {
        if (fate?.fate === 'withheld') break
        if (!fate && statements.isCommit(message)) fate = this.#take(statements.texts)
        if (fate?.fate === 'withheld') this.#hold(near, fate)
        else passing.push(message)
      }
      write(passing, near, far)
      if (fate?.fate === 'cut') near.resetAndDestroy()
    })
    far.on('data', (chunk) => {
      if (this.silent) return
      const messages = down.push(chunk)
      if (!fate) return write(messages, far, near)
      if (!messages.some(isCommitted)) return
      fate.struck()
      if (fate.fate === 'unanswered') this.#hanging.push(near)
      else far.end()
    })
  }

  #hold(near: Socket, { struck }: Strike): void {
    this.#hanging.push(near)
    struck()
  }

  #take(texts: readonly string[]): Strike | undefined {
    const at = this.#strikes.findIndex(({ of }) => texts.some((text) => of.test(text)))
    return at < 0 ? undefined : this.#strikes.splice(at, 1)[0]
  }
}

/** CommandComplete of a COMMIT. */
const isCommitted = ({ type, bytes }: Message): boolean =>
  type === 'C' && bytes.toString('latin1', 5).startsWith('COMMIT')

function write(messages: readonly Message[], from: Socket, to: Socket): void {
  if (messages.length > 0) pass(Buffer.concat(messages.map(({ bytes }) => bytes)), from, to)
}
