import autocannon from 'autocannon'

/** How long a load goes on: for whole seconds, or until so many were answered. */
export type Length = { seconds: number } | { count: number }

export interface Saturation {
  url: string
  requests: readonly { method: 'GET' | 'POST'; path: string; body?: string }[]
  headers: Readonly<Record<string, string>>
  connections: number
  length: Length
  /** the one status that is right */
  status: number
}

/** An answer that is not the wanted one: what was measured would be how fast a server refuses. */
export class WrongAnswer extends Error {
  override name = 'WrongAnswer'
}

const sampleMs = 50

/**
 * As many requests as the server answers, from `connections` that each send the next one when the last was answered. Answers
 * with how many were answered. @throws WrongAnswer for anything but `status` everywhere
 */
export async function saturate(load: Saturation): Promise<number> {
  const result = await autocannon({
    url: load.url,
    connections: load.connections,
    // It notices its end only when it samples.
    sampleInt: sampleMs,
    ...('seconds' in load.length ? { duration: load.length.seconds } : { amount: load.length.count }),
    timeout: 30,
    headers: { ...load.headers },
    requests: load.requests.map(({ method, path, body }) => ({
      method,
      path,
      ...(body !== undefined && { body }),
    })),
  })
  const counts = Object.entries(result.statusCodeStats ?? {}).map(([code, { count = 0 }]) => ({
    code: Number(code),
    count,
  }))
  const wrong = counts.filter(({ code }) => code !== load.status)
  const right = counts.find(({ code }) => code === load.status)?.count ?? 0
  if (wrong.length > 0 || result.errors > 0 || result.timeouts > 0 || right === 0) {
    const seen = counts.map(({ code, count }) => `${count} × ${code}`).join(', ')
    throw new WrongAnswer(
      `${load.requests[0]?.method} ${load.url}${load.requests[0]?.path} must answer ${load.status} and answered ${seen || 'nothing'}, ${result.errors} errors, ${result.timeouts} timeouts`,
    )
  }
  return right
}
