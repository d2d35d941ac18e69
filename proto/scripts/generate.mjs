/**
 * Writes `src/gen/svc.js` and `svc.d.ts` from every .proto file, when they changed since the last time.
 * With `--optional` a missing generator is no error: an installation without development packages runs
 * bundles, which have the generated code inside.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const out = join(root, 'src/gen')
const stamp = join(out, 'inputs.sha256')

const pbjsFlags = [
  '-t',
  'static-module',
  '-w',
  'es6',
  '--es6',
  '--force-number',
  '--no-delimited',
  '--no-typeurl',
]

const inputs = readdirSync(join(root, 'svc'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.proto'))
  .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
  .sort()

/** The folder of the generator, or undefined where it is not installed. */
function findGenerator() {
  try {
    return dirname(createRequire(import.meta.url).resolve('protobufjs-cli/package.json'))
  } catch {
    return undefined
  }
}

/** One number for everything the output depends on: the contracts, this script, the generator's version. */
function hashInputs(generator) {
  const hash = createHash('sha256')
  for (const file of [...inputs.map((name) => join(root, name)), fileURLToPath(import.meta.url)])
    hash.update(`${relative(root, file)}\0`).update(readFileSync(file))
  return hash.update(readFileSync(join(generator, 'package.json'))).digest('hex')
}

/**
 * `--force-number` changes only the declared types: as long as the library finds the `long` package, it decodes
 * 64-bit fields to objects. Numbers (exact to 2^53) are what the types say, so that package is taken away from it.
 */
function numbersNotLongs(code) {
  const marker = /^import .* from "protobufjs\/minimal(?:\.js)?";$/m
  if (!marker.test(code)) throw new Error('the generated code does not begin as expected')
  return code.replace(
    marker,
    'import $protobuf from "protobufjs/minimal.js";\n\n$protobuf.util.Long = undefined;\n$protobuf.configure();',
  )
}

function generate(generator) {
  const run = (tool, args) =>
    execFileSync(process.execPath, [join(generator, 'bin', tool), ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  mkdirSync(out, { recursive: true })
  const work = mkdtempSync(join(out, '.work-'))
  try {
    const code = join(work, 'svc.js')
    const types = join(work, 'svc.d.ts')
    run('pbjs', [...pbjsFlags, '-o', code, ...inputs])
    run('pbts', ['-o', types, code])
    writeFileSync(code, numbersNotLongs(readFileSync(code, 'utf8')))
    writeFileSync(types, readFileSync(types, 'utf8').replace(/^import Long = require\("long"\);\n/m, ''))
    // Renamed into place, the stamp last: a reader never sees half a file, a crash never looks finished.
    writeFileSync(join(work, 'stamp'), hashInputs(generator))
    renameSync(code, join(out, 'svc.js'))
    renameSync(types, join(out, 'svc.d.ts'))
    renameSync(join(work, 'stamp'), stamp)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const generator = findGenerator()
if (!generator) {
  console.error('proto: protobufjs-cli is not installed, no code was generated')
  process.exitCode = process.argv.includes('--optional') ? 0 : 1
} else if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== hashInputs(generator)) {
  try {
    generate(generator)
  } catch (error) {
    console.error(`proto: code generation failed\n${error.stderr?.length ? error.stderr : error.message}`)
    process.exitCode = 1
  }
}
