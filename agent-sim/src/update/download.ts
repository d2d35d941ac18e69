import { createHash } from 'node:crypto'
import { chmod, type FileHandle, open } from 'node:fs/promises'
import { UpdateFailed } from './reasons.ts'

/** A download that stands still for so long, or is not done after so long, is given up. */
export const downloadTimes = { stillMs: 30_000, wholeMs: 15 * 60_000 } as const

export interface Wanted {
  url: URL
  /** bytes; not one more is written */
  size: number
  /** hex */
  sha256: string
  signal: AbortSignal
  times?: { stillMs: number; wholeMs: number }
}

/** Downloads into a new file, durable and executable when it resolves. @throws UpdateFailed, or an error of the file system */
export async function download(path: string, wanted: Wanted): Promise<void> {
  const watch = new Watch(wanted.signal, wanted.times ?? downloadTimes)
  try {
    const body = await watch.asked(request(wanted, watch.signal))
    const file = await open(path, 'w', 0o600)
    try {
      await receive(body, file, wanted, watch)
      await file.sync()
    } finally {
      await file.close()
    }
    await chmod(path, 0o755)
  } finally {
    watch.end()
  }
}

async function request({ url, size }: Wanted, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  // Compressed, it would have another length on its way.
  const response = await fetch(url, { headers: { 'accept-encoding': 'identity' }, signal })
  const length = response.headers.get('content-length')
  const fault = response.ok
    ? length !== null &&
      Number(length) !== size &&
      new UpdateFailed('bad_size', `${length} bytes, not ${size}`)
    : new UpdateFailed('download_failed', `HTTP ${response.status}`)
  if (fault) {
    await response.body?.cancel()
    throw fault
  }
  if (!response.body) throw new UpdateFailed('download_failed', 'an answer without a body')
  return response.body as unknown as AsyncIterable<Uint8Array>
}

async function receive(
  body: AsyncIterable<Uint8Array>,
  file: FileHandle,
  { size, sha256 }: Wanted,
  watch: Watch,
): Promise<void> {
  const hash = createHash('sha256')
  let received = 0
  for await (const chunk of watch.each(body)) {
    received += chunk.length
    if (received > size) throw new UpdateFailed('bad_size', `more than ${size} bytes`)
    hash.update(chunk)
    await file.writeFile(chunk)
  }
  if (received < size) throw new UpdateFailed('bad_size', `${received} bytes, not ${size}`)
  if (hash.digest('hex') !== sha256) throw new UpdateFailed('bad_hash')
}

/** The times of one download; tells errors of the network from those of the disk. */
class Watch {
  readonly #abort = new AbortController()
  readonly #whole: NodeJS.Timeout
  #still: NodeJS.Timeout
  readonly signal: AbortSignal

  constructor(signal: AbortSignal, { stillMs, wholeMs }: { stillMs: number; wholeMs: number }) {
    const late = () => this.#abort.abort(new UpdateFailed('download_timeout'))
    this.#whole = setTimeout(late, wholeMs)
    this.#still = setTimeout(late, stillMs)
    this.signal = AbortSignal.any([signal, this.#abort.signal])
  }

  async asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      throw this.#failure(error)
    }
  }

  async *each(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const chunks = body[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await this.asked(chunks.next())
      if (done) return
      this.#still.refresh()
      yield value
    }
  }

  /** Whatever ended the download, nothing more is received. */
  end(): void {
    this.#abort.abort(new UpdateFailed('download_failed', 'not wanted any more'))
    clearTimeout(this.#whole)
    clearTimeout(this.#still)
  }

  #failure(error: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason
    return error instanceof UpdateFailed ? error : new UpdateFailed('download_failed', reasonOf(error))
  }
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause)
}
