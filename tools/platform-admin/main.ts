import { parseArgs } from 'node:util'
import { DatabaseError, platformAdminByCommand } from '@svc/control-plane'
import { misread } from '../command-line.mjs'
import { runningDatabase } from '../release/running.ts'
import { DataFolder } from '../start/data-folder.ts'
import { Expected } from '../start/options.ts'

const help = `Makes a user administrator of the platform, which nothing else does: he may register releases.

npm run -s platform-admin -- EMAIL [--remove] [--data .svc]

DATABASE_URL names another database than that of the server that runs on the data folder.`

const options = {
  data: { type: 'string', default: process.env['SVC_DATA'] || '.svc' },
  remove: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

function read(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch (error) {
    throw new Expected(misread(error))
  }
}

/** @returns what to print @throws Expected */
async function main(args: string[]): Promise<string> {
  const { values, positionals } = read(args)
  const [email] = positionals
  if (values.help || !email || positionals.length > 1) return help
  const admin = !values.remove
  const known = await platformAdminByCommand(runningDatabase(new DataFolder(values.data)), email, admin)
  if (!known) throw new Expected(`There is no user ${email}.`)
  return `${email} is ${admin ? 'now' : 'no longer'} administrator of the platform`
}

main(process.argv.slice(2)).then(console.log, (error: unknown) => {
  const plain = error instanceof Expected || error instanceof DatabaseError
  console.error(plain ? error.message : error)
  process.exitCode = 1
})
