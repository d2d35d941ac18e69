import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { X509Certificate } from 'node:crypto'
import { serverHashOf } from '../../wire/meshcentral.ts'

/** The administrator in whose name groups are made for agents that bring one nobody knows. */
const administrator = 'bench'

/**
 * A server that listens on the loopback, without TLS, which is somebody else's; keeps everything in its own NeDB; and looks for
 * nothing and nobody outside: no updates, no mail, no certificates of others, no time stamps for what it signs.
 */
const settings = {
  cert: 'bench.localhost',
  WANonly: true,
  portBind: '127.0.0.1',
  redirPort: 0,
  mpsPort: 0,
  tlsOffload: '127.0.0.1',
  selfUpdate: false,
  autoBackup: false,
  agentTimeStampServer: false,
  plugins: { enabled: false },
  // Nobody is cut for a silence that is the bench's own.
  agentIdleTimeout: 3_600,
  // Agents that come back every minute are the bench's wish, too: they are not counted as troubled. Nothing is updated for it.
  agentUpdateTest: 0,
}

/** Makes the folder of a server with its configuration and its administrator. */
export async function makeMeshcentralData(installed: string, data: string): Promise<void> {
  mkdirSync(data, { recursive: true })
  const domains = { '': { newAccounts: false, orphanAgentUser: administrator } }
  writeFileSync(join(data, 'config.json'), JSON.stringify({ settings, domains }, null, 2))
  await command(installed, data, ['--createaccount', administrator, '--pass', crypto.randomUUID()])
  await command(installed, data, ['--adminaccount', administrator])
}

const commandWithinMs = 60_000

/** Where a server keeps its things, and that it must not fetch packages by itself. */
export const meshcentralArguments = (data: string): string[] =>
  Object.entries({
    datapath: data,
    filespath: `${data}-files`,
    configfile: join(data, 'config.json'),
    npmpath: '/bin/false',
  }).flatMap(([name, value]) => [`--${name}`, value])

/** A program of the package, without whatever proxies this machine uses: for those it would fetch a package more. */
export const meshcentralEnvironment = (data: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: data,
})

async function command(installed: string, data: string, args: string[]): Promise<void> {
  const program = join(installed, 'node_modules/meshcentral/meshcentral.js')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [program, ...meshcentralArguments(data), ...args],
    { env: meshcentralEnvironment(data), timeout: commandWithinMs },
  )
  if (!stdout.includes('Done.')) throw new Error(`meshcentral ${args[0]}: ${stdout.trim()}`)
}

/** What agents know the server by: it makes its certificate when it first starts. */
export const meshcentralHash = (data: string): string =>
  serverHashOf(new X509Certificate(readFileSync(join(data, 'webserver-cert-public.crt'))).raw)
