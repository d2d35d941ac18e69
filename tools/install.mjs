/** Makes a fresh clone able to run: needs nothing but Node, so it may be imported before anything is installed. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createProgress } from './progress.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const readJson = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'))
const readLock = (file) => readJson(file).packages
const inPackages = (path) => path.startsWith('node_modules/') || path.includes('/node_modules/')

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** What a signal makes of a shell's child. */
const interrupted = 130

/** Ends the process with one line when this Node is older than the project's floor. */
export function requireNode() {
  const floor = readJson(root, 'package.json').engines.node.replace('>=', '')
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
  const wanted = readLock(join(folder, 'package-lock.json'))
  const present = readLock(note)
  for (const [path, { version, link, optional }] of Object.entries(wanted)) {
    if (!inPackages(path)) continue
    if (!present[path] ? !optional : !link && present[path].version !== version) return false
  }
  return Object.keys(present).every((path) => !inPackages(path) || path in wanted)
}

/** How many of the packages that every machine needs are in place. */
export function countInstalled(folder = root) {
  const needed = Object.entries(readLock(join(folder, 'package-lock.json'))).filter(
    ([path, { link, optional }]) => inPackages(path) && !link && !optional,
  )
  const there = needed.filter(([path]) => existsSync(join(folder, path, 'package.json')))
  return { there: there.length, needed: needed.length }
}

/**
 * The tools among the development packages are needed to run from a checkout, in production mode too. npm's warnings are about
 * dependencies that wish for another Node than the one that we test them on; its errors are shown.
 */
const ciArgs = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']

/** Runs npm as whoever started us did, or the one on PATH. Rejects with npm's own words. An end that we are told is npm's, too. */
function npm(args, folder) {
  const options = { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] }
  const cli = process.env['npm_execpath']
  const child = cli?.endsWith('.js')
    ? spawn(process.execPath, [cli, ...args], options)
    : spawn('npm', args, { ...options, shell: process.platform === 'win32' })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  const stop = (signal) => {
    child.kill(signal)
    process.exit(interrupted)
  }
  for (const signal of signals) process.once(signal, stop)
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`npm ${args[0]} failed: ${why}\n${said}`.trim()))
    child.once('error', (error) => fail(error.message))
    child.once('close', (code, signal) => (code === 0 ? resolve() : fail(signal ?? `code ${code}`)))
  }).finally(() => {
    for (const signal of signals) process.off(signal, stop)
  })
}

/** Installs the packages of a folder, and says on standard error, where no output for machines is, how far it is. */
export async function install(
  folder,
  progress = createProgress((line) => process.stderr.write(`${line}\n`)),
) {
  const now = () => {
    const { there, needed } = countInstalled(folder)
    return `installing packages (npm ci): ${there} of ${needed}`
  }
  await progress.step(
    now,
    () => npm(ciArgs, folder),
    () => `installed ${countInstalled(folder).there} packages`,
  )
}

/**
 * Installs what is missing or outdated and makes what installing makes (generated code, the adapted engine, the repaired driver), also
 * where npm is told to run no scripts. Throws with npm's own words when that fails.
 */
export async function ensureInstalled() {
  if (!isInstalled()) await install(root)
  prepare()
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
    const { status } = spawnSync(process.execPath, [join(root, script)], { stdio: ['ignore', 2, 2] })
    if (status !== 0) throw new Error(`${script} failed`)
  }
}
