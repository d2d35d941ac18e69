import { existsSync, readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { MemoryBus } from '@svc/proto/bus'
import { pino } from 'pino'
import { openKeySet, openMasterKey, rotateKeys } from './adapters/keys.ts'
import { prepareSchema } from './db/prepare.ts'
import {
  buildControlPlane,
  type Config,
  ConfigError,
  type ControlPlane,
  DatabaseError,
  KeyError,
  MigrationError,
  platformAdminByCommand,
  readConfig,
  seedDemo,
} from './index.ts'
import { ApiError } from './kernel/errors.ts'

const help = `svc-admin COMMAND: what is done on a server and over no API. Reads the same variables as the control plane.

  check                       says what is wrong with configuration, database and keys; exit code 0 when nothing is
  migrate                     applies the migrations that are pending
  make-keys                   makes the keys of KEYS_DIR, before the first start, where servers may only read them
  rotate-keys                 makes a new key that signs access tokens; those of the one before stay good
  create-partner              a partner with an organization, a site, an administrator and an enrollment key; prints their
      --partner NAME            secrets, which are known nowhere else
      --email ADDRESS
      [--name NAME] [--organization NAME] [--site NAME]
  platform-admin EMAIL        makes a user administrator of the platform; with --remove, no longer
  register-release VERSION    registers a release of the agent from where BINARY_SOURCE says it is`

/** What its operator can mend: told in one line. */
class Refused extends Error {}

const plain = [ApiError, ConfigError, DatabaseError, KeyError, MigrationError, Refused]
const badConfiguration = 78

const textOption = { type: 'string' } as const
const options = {
  partner: textOption,
  email: textOption,
  name: textOption,
  organization: textOption,
  site: textOption,
  remove: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']
type Command = (values: Values, word: string | undefined) => Promise<string>

/** Small letters, digits and single dashes: what a slug may be. */
const slugOf = (name: string) =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')

function required(value: string | undefined, what: string): string {
  if (!value) throw new Refused(`${what} is needed: see svc-admin --help`)
  return value
}

/** The product opened for one piece of work: it listens to nothing, migrates nothing, and needs no Redis. */
async function opened<T>(work: (controlPlane: ControlPlane, config: Config) => Promise<T>): Promise<T> {
  const config: Config = {
    ...readConfig(process.env),
    autoMigrate: false,
    redisUrl: undefined,
    drainDelayMs: 0,
  }
  const logger = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }))
  const bus = new MemoryBus()
  const controlPlane = await buildControlPlane({ config, logger, bus, role: 'api' })
  try {
    return await work(controlPlane, config)
  } finally {
    await controlPlane.close()
    await bus.close()
  }
}

const commands: Record<string, Command> = {
  check: () =>
    opened(async (controlPlane, config) => {
      const { parts } = await controlPlane.ready()
      const wrong = [parts.postgres, parts.migrations].find((state) => state !== 'ok')
      if (wrong) throw new Refused(wrong)
      const { host, pathname } = new URL(config.databaseUrl)
      return `database ${host}${pathname}: all migrations applied\nkeys ${config.keysDir}: the ones of this database`
    }),

  migrate: async () => {
    const applied: string[] = []
    const onApplied = (names: string[]) => applied.push(...names)
    await prepareSchema({ ...readConfig(process.env), autoMigrate: true, onApplied })
    return applied.length > 0 ? applied.join('\n') : 'nothing is pending'
  },

  'make-keys': async () => {
    const dir = required(process.env['KEYS_DIR'], 'KEYS_DIR')
    if (existsSync(dir) && readdirSync(dir).length > 0)
      throw new Refused(`${dir} (KEYS_DIR) is not empty: keys are made once`)
    for (const purpose of ['jwt', 'commands']) openKeySet(dir, purpose)
    const { id } = openMasterKey(dir)
    return `${dir}: ${readdirSync(dir).join(' ')}; master key ${id}`
  },

  'rotate-keys': async () => {
    const dir = required(process.env['KEYS_DIR'], 'KEYS_DIR')
    const before = openKeySet(dir, 'jwt').current().id
    rotateKeys(dir, 'jwt')
    return `access tokens: ${openKeySet(dir, 'jwt').current().id} signs, ${before} is still good`
  },

  'create-partner': (values) =>
    opened(async ({ db, ports }) => {
      const [partner, email] = [required(values.partner, '--partner'), required(values.email, '--email')]
      const organization = values.organization ?? partner
      const made = await seedDemo(db, ports, {
        partnerName: partner,
        partnerSlug: slugOf(partner),
        organizationName: organization,
        organizationSlug: slugOf(organization),
        adminEmail: email,
        adminName: values.name ?? email,
        siteName: values.site ?? 'Headquarters',
      })
      if (!made.secrets) throw new Refused(`there is a partner ${slugOf(partner)} already`)
      return JSON.stringify(made, null, 2)
    }),

  'platform-admin': async (values, word) => {
    const email = required(word, 'EMAIL')
    const known = await platformAdminByCommand(readConfig(process.env).databaseUrl, email, !values.remove)
    if (!known) throw new Refused(`there is no user ${email}`)
    return `${email} is ${values.remove ? 'no longer' : 'now'} administrator of the platform`
  },

  'register-release': (_values, word) =>
    opened(async (controlPlane) => {
      const version = required(word, 'VERSION')
      const done = await controlPlane.registerRelease(version)
      if (!done) throw new Refused(`there is no release ${version}`)
      return `${done.version}: ${done.synced.join(' ')}`
    }),
}

function read(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    // Its first sentence; the rest is about dashes.
    throw new Refused(`${(error as Error).message.split(/\.?\n|\. /)[0]}: see svc-admin --help`)
  }
}

/** Runs one command. Resolves with the exit code; whatever its operator can mend is one line. */
async function main([name = '', ...args]: string[]): Promise<number> {
  try {
    const { values, positionals } = read(args)
    if (values.help || ['', '--help', '-h'].includes(name)) {
      console.log(help)
      return 0
    }
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (!command) throw new Refused(`there is no command ${name}: see svc-admin --help`)
    if (positionals.length > 1)
      throw new Refused(`${name} takes no ${positionals.slice(1).join(' ')}: see svc-admin --help`)
    console.log(await command(values, positionals[0]))
    return 0
  } catch (error) {
    console.error(plain.some((kind) => error instanceof kind) ? (error as Error).message : error)
    return error instanceof ConfigError ? badConfiguration : 1
  }
}

process.exitCode = await main(process.argv.slice(2))
