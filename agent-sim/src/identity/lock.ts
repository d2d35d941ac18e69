import { createHash } from 'node:crypto'
import { mkdir, realpath } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Gives a state folder back. */
export type Release = () => Promise<void>

/**
 * Makes this process the only one that uses `dir`: two agents with one identity would push each other off the gateway for ever,
 * and one ledger cannot have two writers. Held by a socket that dies with the process, so nothing stale is left after a crash.
 * Throws when somebody else holds it.
 */
export async function lockFolder(dir: string): Promise<Release> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const name = `svc-agent-${createHash('sha256')
    .update(await realpath(dir))
    .digest('hex')
    .slice(0, 32)}`
  const server = createServer()
  await listen(server, socketPath(name)).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE' ? new Error(`another agent uses ${dir}`) : error
  })
  server.unref()
  return () => new Promise((resolve) => server.close(() => resolve()))
}

/** Abstract on Linux (unix(7)): no file, nothing to clean up. */
const socketPath = (name: string): string => {
  if (process.platform === 'linux') return `\0${name}`
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), name)
}

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
