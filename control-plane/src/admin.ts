import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MemoryBus } from '@svc/proto/bus'
import { openLog } from '@svc/proto/log'
import { headsFileName } from './adapters/heads-file.ts'
import { openKeySet, rotateKeys } from './adapters/keys.ts'
import { openMasterKey, readMasterKeys } from './adapters/master-keys.ts'
import { headKeyPurpose } from './audit-command.ts'
import { prepareSchema } from './db/prepare.ts'
import {
  acceptByCommand,
  AuditFault,
  buildControlPlane,
  type Config,
  ConfigError,
  type ControlPlane,
  createPartnerByCommand,
  DatabaseError,
  describeLosses,
  describeVerified,
  HeadsFileError,
  KeyError,
  masterKeyCommands,
  MigrationError,
  platformAdminByCommand,
  readConfig,
  releaseSsoByCommand,
  RotationError,
  verifyByCommand,
} from './index.ts'
import { ApiError } from './kernel/errors.ts'

const help = `svc-admin COMMAND: what is done on a server and over no API. Reads the same variables as the control plane.

  check                       says what is wrong with configuration, database and keys; exit code 0 when nothing is
  migrate                     applies the migrations that are pending
  make-keys                   makes the keys of KEYS_DIR, before the first start, where servers may only read them; later, those
      that a newer version has besides
  rotate-keys                 makes a new key that signs access tokens; those of the one before stay good
  master-key STEP             exchanges the key that secrets are sealed under (docs/operations.md, Rotating the master key):
      show                    keys, what is under them, and how many running processes have them
      add                     makes a new key in KEYS_DIR and announces it
      use                     it seals from now on; workers seal anew what is under the one before
      retire                  the one before is forgotten, when nothing needs it
  create-partner              a partner with an organization, a site, an administrator and an enrollment key; prints their
      --partner NAME            secrets, which are known nowhere else
      --email ADDRESS
      [--name NAME] [--organization NAME] [--site NAME]
  platform-admin EMAIL        makes a user administrator of the platform; with --remove, no longer
  release-sso ORGANIZATION    passwords count again in an organization (its id) whose identity provider lets nobody in
  register-release VERSION    registers a release of the agent from where BINARY_SOURCE says it is
  verify-audit                checks the audit log against its seals, and against what was told of them outside of the database;
      [--heads FILE]…           exit code 1 when something does not fit; --heads: files or logs, default that of AUDIT_HEADS_DIR
      [--partner ID] [--json]
  accept-restore              after a restore: that what was told of the audit log beyond what the database holds is lost
      [--heads FILE]…`

/** What its operator can mend: told in one line. */
class Refused extends Error {}

/** The audit log is not what was sealed. */
class NotWhole extends Refused {}

const plain = [
  AuditFault,
  HeadsFileError,
  ApiError,
  ConfigError,
  DatabaseError,
  KeyError,
  MigrationError,
  Refused,
  RotationError,
]
const badConfiguration = 78

const textOption = { type: 'string' } as const
const options = {
  partner: textOption,
  email: textOption,
  name: textOption,
  organization: textOption,
  site: textOption,
  heads: { type: 'string', multiple: true },
  json: { type: 'boolean' },
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
  const { log: logger } = openLog({ service: 'tool', level: 'warn', fd: 2 })
  const bus = new MemoryBus()
  const controlPlane = await buildControlPlane({ config, logger, bus, role: 'api' })
  try {
    return await work(controlPlane, config)
  } finally {
    await controlPlane.close()
    await bus.close()
  }
}

/** Where the audit log is, and what was told of it. */
function auditPlaces(values: { heads?: string[] | undefined }) {
  const { databaseUrl, keysDir, auditHeadsDir: headsDir } = readConfig(process.env)
  const own = headsDir === undefined ? undefined : join(headsDir, headsFileName)
  const heads = values.heads ?? (own !== undefined && existsSync(own) ? [own] : [])
  return { databaseUrl, keysDir, headsDir, heads }
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
    const there = existsSync(dir) ? readdirSync(dir) : []
    const missing = ['jwt', 'commands', headKeyPurpose].filter(
      (purpose) => !there.some((file) => file.startsWith(`${purpose}-`)),
    )
    // Of a folder with a master key only what a newer version has besides; of another one nobody knows what it is.
    const newer =
      readMasterKeys(dir).size > 0 && missing.length > 0 && missing.every((one) => one === headKeyPurpose)
    if (there.length > 0 && !newer) throw new Refused(`${dir} (KEYS_DIR) is not empty: keys are made once`)
    for (const purpose of missing) openKeySet(dir, purpose)
    const { id } = openMasterKey(dir)
    return `${dir}: ${readdirSync(dir).join(' ')}; master key ${id}`
  },

  'rotate-keys': async () => {
    const dir = required(process.env['KEYS_DIR'], 'KEYS_DIR')
    const before = openKeySet(dir, 'jwt').current().id
    rotateKeys(dir, 'jwt')
    return `access tokens: ${openKeySet(dir, 'jwt').current().id} signs, ${before} is still good`
  },

  'verify-audit': async ({ partner, json, ...values }) => {
    const places = auditPlaces(values)
    const progress = (rows: number) => console.error(`${rows.toLocaleString('en')} rows`)
    const verified = await verifyByCommand(places, { heads: places.heads, partner, progress })
    const text = json ? JSON.stringify(verified, null, 2) : describeVerified(verified)
    if (verified.whole) return text
    console.log(text)
    throw new NotWhole('the audit log is not whole')
  },

  'accept-restore': async (values) => {
    const places = auditPlaces(values)
    const { lines, losses } = await acceptByCommand(places, places)
    return `${lines}${describeLosses(losses)}`
  },

  'master-key': async (_values, word) => {
    const { databaseUrl, keysDir } = readConfig(process.env)
    const step = required(word, 'show, add, use or retire')
    if (!Object.hasOwn(masterKeyCommands, step)) throw new Refused(`master-key has no step ${step}`)
    return masterKeyCommands[step as keyof typeof masterKeyCommands](databaseUrl, keysDir)
  },

  'create-partner': (values) =>
    opened(async ({ ports }, { databaseUrl }) => {
      const [partner, email] = [required(values.partner, '--partner'), required(values.email, '--email')]
      const organization = values.organization ?? partner
      const made = await createPartnerByCommand(databaseUrl, ports, {
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

  'release-sso': async (_values, word) => {
    const orgId = required(word, 'ORGANIZATION')
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(orgId)) throw new Refused(`${orgId} is no id`)
    const released = await releaseSsoByCommand(readConfig(process.env).databaseUrl, orgId)
    if (!released) throw new Refused(`there is no organization ${orgId} that demands single sign-on`)
    return `${orgId}: passwords count again; the provider and its logins are as they were`
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
