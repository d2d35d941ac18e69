import { chmodSync, existsSync, mkdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { findRedisServer, removeAbandoned, startPostgres, startRedis } from '../services.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The superuser's, to the database `postgres` of a server that this run has for itself. */
    databaseUrl: string
    /** Empty where there is no Redis to be had. */
    redisUrl: string
    /** Of this run; removed after it. */
    folder: string
  }
}

interface Services {
  folder: string
  databaseUrl: string
  redisUrl: string
  stop: () => Promise<void>
}

// vitest loads this file once per project: what they share has to live outside of it.
const shared = globalThis as { svcTestServices?: { starting: Promise<Services>; users: number } | undefined }

const memory = '/dev/shm'
/** What hundreds of databases of a few megabytes, a handful at a time, and their write-ahead log never fill. */
const roomy = 4 * 1024 ** 3

/** Where files live in memory, if there is room: to make a database is to copy some thousand of them. */
function fastest(): string {
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > roomy ? memory : tmpdir()
}

/** A folder of this run in there; those of runs that were killed go. */
function ownFolder(parent: string): string {
  const prefix = join(parent, 'svc-test-')
  removeAbandoned(prefix)
  const folder = `${prefix}${process.pid}`
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o711) // the database may run as another user
  return folder
}

async function start(): Promise<Services> {
  const folder = ownFolder(tmpdir())
  const data = ownFolder(fastest())
  const given = { database: process.env['TEST_DATABASE_URL'], redis: process.env['TEST_REDIS_URL'] }
  const postgres = given.database
    ? undefined
    : startPostgres({ dataDir: join(data, 'postgres'), persistent: false })
  const redis = given.redis || !findRedisServer() ? undefined : startRedis({ dir: join(folder, 'redis') })
  const stop = async () => {
    await Promise.allSettled([
      postgres?.then((server) => server.stop()),
      redis?.then((server) => server.stop()),
    ])
    for (const own of [folder, data]) rmSync(own, { recursive: true, force: true })
  }
  try {
    const databaseUrl = given.database ?? (await postgres)?.url ?? ''
    const redisUrl = given.redis ?? (await redis)?.url ?? ''
    return { folder, databaseUrl, redisUrl, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** One Postgres and one Redis for the whole run, whatever number of projects asks for them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.svcTestServices ??= { starting: start(), users: 0 }
  const services = shared.svcTestServices
  services.users++
  const { folder, databaseUrl, redisUrl, stop } = await services.starting
  project.provide('databaseUrl', databaseUrl)
  project.provide('redisUrl', redisUrl)
  project.provide('folder', folder)
  return async () => {
    if (--services.users > 0) return
    shared.svcTestServices = undefined
    await stop()
  }
}
