/** A message of PostgreSQL's protocol 3 as it is on the wire; `type` is empty for the first one of a client, which has none. */
export interface Message {
  type: string
  bytes: Buffer
}

/** Cuts a stream into messages (PostgreSQL 15, 55.7). */
export class Messages {
  #rest: Buffer = Buffer.alloc(0)
  #untyped: boolean

  /** @param fromClient its first message has no type */
  constructor(fromClient: boolean) {
    this.#untyped = fromClient
  }

  /** Those that are complete with this chunk. */
  push(chunk: Buffer): Message[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const found: Message[] = []
    for (let next = this.#next(); next; next = this.#next()) found.push(next)
    return found
  }

  #next(): Message | undefined {
    const at = this.#untyped ? 0 : 1
    if (this.#rest.length < at + 4) return undefined
    const end = at + this.#rest.readUInt32BE(at)
    if (this.#rest.length < end) return undefined
    const bytes = this.#rest.subarray(0, end)
    this.#rest = this.#rest.subarray(end)
    const type = this.#untyped ? '' : String.fromCharCode(bytes[0] ?? 0)
    this.#untyped = false
    return { type, bytes }
  }
}

/** The strings, each ended by a zero, that a message begins with. */
export function stringsOf({ bytes }: Message, count: number): string[] {
  const strings: string[] = []
  for (let at = 5; strings.length < count; ) {
    const end = bytes.indexOf(0, at)
    strings.push(bytes.toString('utf8', at, end))
    at = end + 1
  }
  return strings
}
