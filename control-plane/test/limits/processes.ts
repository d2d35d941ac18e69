import { randomBytes } from 'node:crypto'
import type { TestApp } from '../harness/app.ts'
import { type Program, startProgram } from '../harness/program.ts'

/** A control plane in a process of its own, on the database and with the keys of a test's app. */
export interface Peer {
  program: Program
  /** below `/api/v1`, from that address: the process takes this one for its proxy */
  ask(method: string, path: string, from: string, more?: Asked): Promise<Response>
}

export interface Asked {
  body?: unknown
  headers?: Record<string, string>
}

export async function startPeer(
  { url, config }: TestApp,
  redisUrl: string,
  more: Record<string, string> = {},
): Promise<Peer> {
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: url,
    REDIS_URL: redisUrl,
    KEYS_DIR: config.keysDir,
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: '0',
    INTERNAL_PORT: '0',
    METRICS_PORT: '0',
    PUBLIC_URL: config.publicUrl,
    TRUSTED_PROXIES: '127.0.0.1',
    ...more,
  }
  const program = startProgram(env, ['--role', 'api'])
  const { apiUrl = '' } = await program.isUp
  return {
    program,
    ask: (method, path, from, { body, headers } = {}) =>
      fetch(`${apiUrl}/api/v1${path}`, {
        method,
        headers: {
          'x-forwarded-for': from,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  }
}

/** How often each status was answered. */
export type Statuses = Record<number, number>

/** Asks so often at once, each of these in turn. */
export async function statuses<T>(
  peers: readonly T[],
  times: number,
  ask: (peer: T, n: number) => Promise<Response>,
): Promise<Statuses> {
  const counted: Statuses = {}
  const one = async (n: number) => {
    const answer = await ask(peers[n % peers.length] as T, n)
    await answer.body?.cancel()
    counted[answer.status] = (counted[answer.status] ?? 0) + 1
  }
  await Promise.all(Array.from({ length: times }, (_, n) => one(n)))
  return counted
}
