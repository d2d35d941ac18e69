import { SmsFailed } from './sms.ts'

/** The person who waits for the answer waits for the provider too. */
const timeoutMs = 10_000
/** What is read of an answer: it goes into the log alone. */
const shownBytes = 500

/** One request to a provider. Redirects are not followed: credentials go where the configuration says. @throws SmsFailed unless it answers 2xx */
export async function post(url: string, headers: Record<string, string>, body: string): Promise<void> {
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
    throw new SmsFailed(`the SMS provider cannot be asked: ${(error as Error).message}`, { cause: error })
  })
  if (answer.statusCode < 200 || answer.statusCode >= 300) {
    throw new SmsFailed(`the SMS provider answers ${answer.statusCode}: ${await start(answer.body)}`)
  }
  await answer.body.dump()
}

async function start(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= shownBytes) break
    }
  } catch (error) {
    return `(its answer broke off: ${(error as Error).message})`
  }
  return Buffer.concat(chunks)
    .subarray(0, shownBytes)
    .toString()
    .replaceAll(/\p{Cc}+/gu, ' ')
}
