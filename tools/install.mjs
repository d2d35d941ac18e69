/** Makes a fresh clone able to run: needs nothing but Node, so it may be imported before anything is installed. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const readJson = (...path) => JSON.parse(readFileSync(join(root, ...path), 'utf8'))

/** Ends the process with one line when this Node is older than the project's floor. */
export function requireNode() {
  const floor = readJson('package.json').engines.node.replace('>=', '')
  const [have, need] = [process.versions.node, floor].map((text) => text.split('.').map(Number))
  const first = need.findIndex((number, i) => number !== have[i])
  if (first >= 0 && have[first] < need[first]) {
    console.error(`svc needs Node.js ${floor} or newer; this is ${process.versions.node}`)
    process.exit(1)
  }
}

/**
 * Whether node_modules holds exactly what package-lock.json says. npm notes beside the packages what it installed;
 * packages for other platforms are absent there, and only those may be.
 */
export function isInstalled(folder = root) {
  const note = join(folder, 'node_modules/.package-lock.json')
  if (!existsSync(note)) return false
  const wanted = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages
  const present = JSON.parse(readFileSync(note, 'utf8')).packages
  const inPackages = (path) => path.startsWith('node_modules/') || path.includes('/node_modules/')
  for (const [path, { version, link, optional }] of Object.entries(wanted)) {
    if (!inPackages(path)) continue
    if (!present[path] ? !optional : !link && present[path].version !== version) return false
  }
  return Object.keys(present).every((path) => !inPackages(path) || path in wanted)
}

/** Runs npm as whoever started us did, or the one on PATH. */
function npm(args, quiet) {
  const stdio = quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit']
  const options = { cwd: root, stdio, encoding: 'utf8' }
  const cli = process.env['npm_execpath']
  return cli?.endsWith('.js')
    ? spawnSync(process.execPath, [cli, ...args], options)
    : spawnSync('npm', args, { ...options, shell: process.platform === 'win32' })
}

/**
 * The tools among the development packages are needed to run from a checkout, in production mode too. npm's warnings are about
 * dependencies that wish for another Node than the one that we test them on; its errors are shown.
 */
const ciArgs = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']

/**
 * Installs what is missing or outdated and makes what installing makes (generated code, the adapted engine, the repaired driver), also
 * where npm is told to run no scripts. Throws with npm's own words when that fails. True when it installed.
 */
export async function ensureInstalled({ quiet = false } = {}) {
  const missing = !isInstalled()
  if (missing) {
    if (!quiet) console.log('Installing packages (npm ci) …')
    const { status, error, stdout, stderr } = npm(ciArgs, quiet)
    if (error || status !== 0)
      throw new Error(
        `npm ci failed: ${error?.message ?? `code ${status}`}\n${stdout ?? ''}${stderr ?? ''}`.trim(),
      )
  }
  prepare()
  return missing
}

/** What has to be done after an installation, each a script that does nothing when there is nothing to do. */
const scripts = [
  'proto/scripts/generate.mjs',
  'edge-gateway/scripts/uws-glibc.mjs',
  'control-plane/scripts/postgres-closed.mjs',
]

/** Generates code, adapts the engine, repairs the database driver. */
function prepare() {
  for (const script of scripts) {
    const { status } = spawnSync(process.execPath, [join(root, script)], { stdio: 'inherit' })
    if (status !== 0) throw new Error(`${script} failed`)
  }
}
