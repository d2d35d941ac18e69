import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The one that is measured. It is no dependency: it comes when a full run first wants it. */
export const meshcentralVersion = '1.1.55'
const place = join(import.meta.dirname, '../../../../.svc/peers/meshcentral')
const withinMs = 240_000

const installedVersion = (at: string): string | undefined => {
  const file = join(at, 'node_modules/meshcentral/package.json')
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version
    : undefined
}

/**
 * Where it lies, `node_modules` in it; installs it there, with nothing of its packages' scripts run, where it is missing or another
 * version. Rejects when npm fails or takes longer than four minutes; then nothing is left.
 */
export async function installMeshcentral(progress: (line: string) => void, folder = place): Promise<string> {
  if (installedVersion(folder) === meshcentralVersion) return folder
  progress(`installing meshcentral ${meshcentralVersion} from npm into .svc/peers, once`)
  const partial = `${folder}.partial`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  try {
    // Without it npm would take the repository for the place.
    writeFileSync(join(partial, 'package.json'), '{ "private": true }\n')
    await npmInstall(partial)
    if (installedVersion(partial) !== meshcentralVersion)
      throw new Error('npm has not left it where it belongs')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(dirname(folder), { recursive: true })
    renameSync(partial, folder)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  return folder
}

function npmInstall(at: string): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--save-exact', '--omit=optional']
  // What the npm that runs the bench was told is about the repository.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))
  const child = spawn('npm', ['install', '--prefix', at, ...quiet, `meshcentral@${meshcentralVersion}`], {
    cwd: at,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: withinMs,
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`npm install: ${signal ?? said.trim().split('\n')[0]}`)),
    )
  })
}
