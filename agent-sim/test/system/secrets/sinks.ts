import { readdirSync, readFileSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join, relative } from 'node:path'
import { Redis } from 'ioredis'
import type postgres from 'postgres'
import type { Piece } from './search.ts'

const piece = (where: string, text: string | Buffer): Piece => ({ where, bytes: Buffer.from(text) })

export const textPiece = (where: string, text: string): Piece => piece(where, text)

/** Every row of every table of every schema, the queue's and the catalogue's among them, one piece per table. */
export async function databasePieces(sql: postgres.Sql): Promise<Piece[]> {
  const tables = await sql<{ schema: string; name: string }[]>`
    select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname not like 'pg\\_toast%' and n.nspname not like 'pg\\_temp%'`
  const pieces: Piece[] = []
  for (const { schema, name } of tables) {
    const rows = await sql<{ text: string }[]>`select t::text as text from ${sql(schema)}.${sql(name)} t`
    pieces.push(piece(`${schema}.${name}`, rows.map(({ text }) => text).join('\n')))
  }
  return pieces
}

type Read = (redis: Redis, key: string) => Promise<unknown>

/** How the whole of a key is read, by its type. */
const readers: Record<string, Read> = {
  string: (redis, key) => redis.getBuffer(key),
  hash: (redis, key) => redis.hgetallBuffer(key),
  list: (redis, key) => redis.lrangeBuffer(key, 0, -1),
  set: (redis, key) => redis.smembersBuffer(key),
  zset: (redis, key) => redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES'),
  stream: (redis, key) => redis.xrangeBuffer(key, '-', '+'),
}

/** All bytes and names within an answer of Redis, one after the other. */
function flat(value: unknown): Buffer[] {
  if (Buffer.isBuffer(value)) return [value]
  if (Array.isArray(value)) return value.flatMap(flat)
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => [Buffer.from(key), ...flat(inner)])
  return [Buffer.from(String(value))]
}

/** Every key and value, streams included. */
export async function redisPieces(url: string): Promise<Piece[]> {
  const redis = new Redis(url)
  try {
    const pieces: Piece[] = []
    for (const key of await redis.keys('*')) {
      const type = await redis.type(key)
      const read = readers[type]
      if (!read) throw new Error(`${key} is a ${type}, and nobody knows how to read one`)
      const parts = [Buffer.from(key), ...flat(await read(redis, key))]
      pieces.push({ where: key, bytes: Buffer.concat(parts.flatMap((part) => [part, Buffer.from('\n')])) })
    }
    return pieces
  } finally {
    redis.disconnect()
  }
}

/** Everything that is said to Redis, and published in it, from now on. */
export interface Overheard {
  /** bytes that Redis had to write as `\x00` are bytes again */
  pieces(): Piece[]
  close(): void
}

/** By MONITOR. @param url with a password */
export async function overhear(url: string): Promise<Overheard> {
  const { hostname, port, password } = new URL(url)
  const chunks: Buffer[] = []
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(`AUTH ${decodeURIComponent(password)}\r\n`)
  await once(socket, 'data')
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  socket.write('MONITOR\r\n')
  await once(socket, 'data')
  const unescaped = () =>
    Buffer.concat(chunks)
      .toString('latin1')
      .replaceAll(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .replaceAll(/\\(["\\])/g, '$1')
  return {
    pieces: () => [{ where: 'MONITOR', bytes: Buffer.from(unescaped(), 'latin1') }],
    close: () => socket.destroy(),
  }
}

/** Every file below a folder, and how it may be read. */
export const filesIn = (folder: string): (Piece & { mode: number })[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({
      where: relative(folder, path),
      bytes: readFileSync(path),
      mode: statSync(path).mode & 0o777,
    }))

/** How programs were started, as anybody on the machine sees it (Linux). */
export const commandLines = (pids: Record<string, number>): Piece[] =>
  Object.entries(pids).map(([name, pid]) => ({
    where: `command line of ${name}`,
    bytes: readFileSync(`/proc/${pid}/cmdline`),
  }))
