import { registerFromFolder } from '@svc/control-plane'
import { releaseKeyId } from '@svc/proto'
import { unknown } from '../command-line.mjs'
import { DataFolder } from '../start/data-folder.ts'
import { readSwitches, releaseOf, required, UsageError, versionOf } from './commands.ts'
import { ensureReleaseKeys } from './keys.ts'
import { publish } from './publish.ts'
import { runningDatabase } from './running.ts'
import { nextSequence, writeRelease } from './write.ts'

const help = `Signs and publishes releases of the agent.

npm run release -- keys --out DIR
  Makes the Ed25519 key pair that signs releases, once. The public key goes into RELEASE_KEYS; the private one stays off the server.

npm run release -- build --version 1.2.3 --out DIR --key FILE
  Builds, signs and writes DIR/1.2.3: what a release host or BINARY_DIR is given.

npm run release -- publish --version 1.2.3 [--data .svc]
  Builds a release with the key of a data folder and registers it in the server that runs on it: its agents update themselves.

  --kinds agent,helper    what is in it (default agent)
  --helper FILE           the helper
  --targets linux/amd64,… for which systems (default all six)
  --sequence N            rises with each release (default: one more than the highest that lies there)
  --expires-days N        until when agents take it (default 30)
  --released-at DATE      default now; with it the same sources give the same bytes
  --notes TEXT            what is new`

const commands: Record<string, (args: string[]) => Promise<string>> = {
  keys: async (args) => {
    const { publicKey, keyFile } = ensureReleaseKeys(required(readSwitches(args), 'out'))
    const keyId = releaseKeyId(Buffer.from(publicKey, 'base64'))
    return `private key  ${keyFile}\npublic key   ${publicKey}\nkey id       ${keyId}`
  },
  build: async (args) => {
    const given = readSwitches(args)
    const out = required(given, 'out')
    return writeRelease(out, await releaseOf(given, required(given, 'key'), nextSequence(out)))
  },
  publish: async (args) => {
    const given = readSwitches(args)
    const version = versionOf(given)
    const folder = new DataFolder(given.data)
    const url = runningDatabase(folder)
    const { publicKey } = ensureReleaseKeys(folder.releaseKey)
    const done = await publish(folder, { ...given, version }, () =>
      registerFromFolder(url, folder.releases, publicKey, version),
    )
    return `${done?.version}: ${done?.synced.join(' ')}`
  },
}

/** Runs one command. Resolves with the exit code; whatever is wrong with what was asked is one line. */
async function main([name = '', ...args]: string[]): Promise<number> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (['', '--help'].includes(name) || args.includes('--help')) {
    console.log(help)
    return 0
  }
  if (!command) {
    console.error(unknown('command', name, Object.keys(commands)))
    return 1
  }
  try {
    console.log(await command(args))
    return 0
  } catch (error) {
    const plain =
      error instanceof UsageError || (error instanceof Error && ('expected' in error || 'code' in error))
    console.error(plain ? error.message : error)
    return 1
  }
}

process.exitCode = await main(process.argv.slice(2))
