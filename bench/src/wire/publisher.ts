import { connect, type Socket } from 'node:net'

/** A command as Redis reads it (RESP2: an array of bulk strings). */
function command(...words: (string | Uint8Array)[]): Buffer {
  const end = Buffer.from('\r\n')
  const bulk = (word: string | Uint8Array) => {
    const bytes = Buffer.from(word)
    return [Buffer.from(`$${bytes.length}`), end, bytes, end]
  }
  return Buffer.concat([Buffer.from(`*${words.length}`), end, ...words.flatMap(bulk)])
}

/** Made once to be sent often. */
export const publishCommand = (channel: string, payload: Uint8Array): Buffer =>
  command('PUBLISH', channel, payload)

/** Publishes through a raw socket, so that who publishes takes little of the core that it shares with the load client. */
export class Publisher {
  readonly #socket: Socket
  #rest = ''
  #open = 0
  #answer = ''
  #resolve: () => void = () => undefined
  #reject: (error: Error) => void = () => undefined

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).setEncoding('latin1')
    socket.on('data', (text: string) => this.#read(text))
    socket.on('error', (error) => this.#reject(error))
    socket.on('close', () => this.#reject(new Error('Redis has closed the connection of who publishes')))
  }

  /** @param url `redis://:password@host:port` */
  static async connect(url: string): Promise<Publisher> {
    const { hostname: host, port, password } = new URL(url)
    const publisher = new Publisher(connect({ host, port: Number(port) }))
    if (password) await publisher.#say(command('AUTH', password), 1, '+OK')
    return publisher
  }

  /** Sends so many commands of {@link publishCommand} in one write; resolves when each has been heard, rejects when one was not. */
  send(commands: Uint8Array, count: number): Promise<void> {
    return this.#say(commands, count, ':1')
  }

  close(): void {
    this.#socket.destroy()
  }

  #say(commands: Uint8Array, count: number, answer: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#open = count
      this.#answer = answer
      this.#socket.write(commands)
    })
  }

  /** Answers are lines: to a PUBLISH, how many heard it. */
  #read(text: string): void {
    const lines = (this.#rest + text).split('\r\n')
    this.#rest = lines.pop() ?? ''
    const bad = lines.find((line) => line !== this.#answer)
    if (bad !== undefined) this.#reject(new Error(`Redis answered "${bad}" instead of "${this.#answer}"`))
    this.#open -= lines.length
    if (this.#open === 0) this.#resolve()
  }
}
