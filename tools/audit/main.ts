import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  acceptByCommand,
  AuditFault,
  DatabaseError,
  describeLosses,
  describeVerified,
  headsFileName,
  HeadsFileError,
  KeyError,
  verifyByCommand,
} from '@svc/control-plane'
import { misread, unknown } from '../command-line.mjs'
import { DataFolder } from '../start/data-folder.ts'
import { Expected } from '../start/options.ts'
import { withDatabaseOf } from './database.ts'

const help = `Checks that the audit log is what was sealed (docs/decisions/0030), running or not.

npm run -s audit -- verify [--partner ID] [--heads FILE]… [--json] [--data .svc]
npm run -s audit -- accept-restore [--heads FILE]… [--data .svc]

  --partner ID   one chain alone; \`system\` is what belongs to no partner
  --heads FILE   what was told of chains outside of the database: a file of AUDIT_HEADS_DIR, or a log; default: the data folder's
  --json         for programs

verify exits with 0 when nothing was found, with 1 when something was, with 2 when it could not be verified.
accept-restore says, after a database was restored, that what was told beyond what it holds is lost.
DATABASE_URL, KEYS_DIR and AUDIT_HEADS_DIR name another database than that of the data folder.`

const options = {
  data: { type: 'string', default: process.env['SVC_DATA'] || '.svc' },
  partner: { type: 'string' },
  heads: { type: 'string', multiple: true },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

function read(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch (error) {
    throw new Expected(misread(error))
  }
}

/** @returns what to print, and the exit code @throws Expected */
async function main(args: string[]): Promise<{ text: string; code: number }> {
  const { values, positionals } = read(args)
  const [command, ...more] = positionals
  if (values.help || command === undefined) return { text: help, code: 0 }
  if (more.length > 0 || !['verify', 'accept-restore'].includes(command))
    throw new Expected(unknown('command', positionals.join(' '), ['verify', 'accept-restore']))
  const folder = new DataFolder(values.data)
  const keysDir = process.env['KEYS_DIR'] || folder.keys
  const headsDir = process.env['AUDIT_HEADS_DIR'] || folder.audit
  const own = join(headsDir, headsFileName)
  const heads = values.heads ?? (existsSync(own) ? [own] : [])
  return withDatabaseOf(folder, async (databaseUrl) => {
    if (command === 'accept-restore') {
      const done = await acceptByCommand({ databaseUrl, keysDir }, { heads, headsDir })
      return { text: describeLosses(done.losses), code: 0 }
    }
    const progress = (rows: number, seconds: number) =>
      console.error(
        `${rows.toLocaleString('en')} rows, ${Math.round(rows / seconds).toLocaleString('en')} a second`,
      )
    const verified = await verifyByCommand(
      { databaseUrl, keysDir },
      { heads, partner: values.partner, progress },
    )
    const text = values.json ? JSON.stringify(verified, null, 2) : describeVerified(verified)
    return { text, code: verified.whole ? 0 : 1 }
  })
}

const plain = [Expected, AuditFault, DatabaseError, HeadsFileError, KeyError]
main(process.argv.slice(2)).then(
  ({ text, code }) => {
    console.log(text)
    process.exitCode = code
  },
  (error: unknown) => {
    console.error(plain.some((kind) => error instanceof kind) ? (error as Error).message : error)
    process.exitCode = 2
  },
)
