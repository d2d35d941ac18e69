import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Length } from '../load/saturate.ts'
import { cores, unpinnable } from '../../method/pin.ts'

/** Where Debian puts it, newest first: it is no part of the embedded server. */
function debianFolders(): string[] {
  const root = '/usr/lib/postgresql'
  try {
    return readdirSync(root)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(root, version, 'bin'))
  } catch {
    return []
  }
}

/** The `pgbench` of this machine and what it calls itself; undefined where there is none. */
export function findPgbench(): { command: string; version: string } | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter(Boolean), ...debianFolders()]
  for (const folder of folders) {
    const command = join(folder, 'pgbench')
    const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
    if (status === 0) return { command, version: stdout.trim() }
  }
  return undefined
}

export interface PgbenchRun {
  command: string
  databaseUrl: string
  /** a folder of its own for the script and the log */
  folder: string
  /** statements with pgbench's own variables; several scripts are taken in turn at random */
  scripts: readonly string[]
  clients: number
  length: Length
  /** transactions per second at fixed times, whatever became of those before; absent: as many as there can be */
  rate?: number
}

const lengthOf = ({ length, clients }: PgbenchRun): string[] =>
  'seconds' in length
    ? ['-T', String(length.seconds)]
    : ['-t', String(Math.max(1, Math.round(length.count / clients)))]

/**
 * Runs it on the client's core. Answers with the ms that each transaction took, from its intended beginning where there is a rate.
 * @throws Error when one fails
 */
export async function runPgbench(run: PgbenchRun): Promise<number[]> {
  const url = new URL(run.databaseUrl)
  const files = run.scripts.map((script, at) => {
    const file = join(run.folder, `script-${at}.sql`)
    writeFileSync(file, script)
    return file
  })
  const logs = join(run.folder, 'pgbench-log')
  const args = [
    ['-n', '-M', 'prepared', '-h', url.hostname, '-p', url.port, '-U', url.username],
    ['-c', String(run.clients), '-j', '1', ...lengthOf(run), '-l', `--log-prefix=${logs}`],
    run.rate === undefined ? [] : [`--rate=${run.rate}`],
    files.flatMap((file) => ['-f', file]),
    [url.pathname.slice(1)],
  ].flat()
  const [command = '', ...rest] = [
    ...(unpinnable() ? [] : ['taskset', '-c', String(cores.client)]),
    run.command,
    ...args,
  ]
  const child = spawn(command, rest, {
    env: {
      PATH: process.env['PATH'],
      PGPASSWORD: url.password,
      PGOPTIONS: '-c search_path=svc',
      LC_ALL: 'C',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0 || !/number of failed transactions: 0 /.test(said))
    throw new Error(`pgbench ended with ${code}:\n${said.trim()}`)
  return readLogs(run.folder)
}

/** Columns: client, transaction, µs from the intended beginning, …; one line for each transaction. */
function readLogs(folder: string): number[] {
  const names = readdirSync(folder).filter((name) => name.startsWith('pgbench-log'))
  return names.flatMap((name) => {
    const file = join(folder, name)
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    rmSync(file)
    return lines.filter(Boolean).map((line) => Number(line.split(' ')[2]) / 1_000)
  })
}
