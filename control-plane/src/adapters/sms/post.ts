import { withheld } from '../withheld.ts'
import { SmsFailed } from './sms.ts'

/** The person who waits for the answer waits for the provider too. */
const timeoutMs = 10_000
/** What is read of an answer, and what of that is shown: it goes into the log alone. */
const [readBytes, shownCharacters] = [65_536, 500]

/** What a provider is asked, and what of it no log may say again. */
export interface Post {
  url: string
  headers: Record<string, string>
  body: string
  /** its credential, as it stands in a header too */
  credentials: readonly string[]
  /** the message in `body` */
  text: string
}

/** What a message holds in confidence: itself, and the code in it. */
const confidenceOf = (text: string) => [text, ...(text.match(/\d{4,}/g) ?? [])]

/** One request to a provider. Redirects are not followed: credentials go where the configuration says. @throws SmsFailed unless it answers 2xx */
export async function post({ url, headers, body, credentials, text }: Post): Promise<void> {
  const unsaid = (said: string) => withheld(said, [...credentials, ...confidenceOf(text)])
  // Loaded with the first message: most processes never send one.
  const { request } = await import('./undici.ts')
  const answer = await request(url, {
    method: 'POST',
    headers: { 'user-agent': 'svc', ...headers },
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw new SmsFailed(`the SMS provider cannot be asked: ${unsaid((error as Error).message)}`)
  })
  if (answer.statusCode < 200 || answer.statusCode >= 300) {
    throw new SmsFailed(`the SMS provider answers ${answer.statusCode}: ${await start(answer.body, unsaid)}`)
  }
  await answer.body.dump()
}

/** Cut only after what is withheld is out of it: half of that must not be left at the end. */
async function start(body: AsyncIterable<Uint8Array>, unsaid: (said: string) => string): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= readBytes) break
    }
  } catch (error) {
    return `(its answer broke off: ${(error as Error).message})`
  }
  return unsaid(Buffer.concat(chunks).toString())
    .slice(0, shownCharacters)
    .replaceAll(/\p{Cc}+/gu, ' ')
}
