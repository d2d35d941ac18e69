/**
 * Lays out the folder that a container image, or a host, runs one program from: bundles, what they read, and the one binary of each
 * native package that fits. Nothing else is needed there but Node: no npm, no sources, no other platform's binaries.
 *
 *   node tools/image.mjs control-plane|gateway FOLDER
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { addServerFiles, compile, root } from './bundle.mjs'

const { arch, platform, versions } = process

/** The packages of node_modules that each has a binary in, and which of its files are that of this Node on this system. */
const images = {
  'control-plane': {
    entries: { 'control-plane': 'control-plane/src/main.ts', admin: 'control-plane/src/admin.ts' },
    packages: ['@node-rs/argon2', `@node-rs/argon2-${platform}-${arch}-gnu`],
    files: addServerFiles,
  },
  gateway: {
    entries: { gateway: 'edge-gateway/src/main.ts' },
    packages: ['uWebSockets.js'],
    files: () => undefined,
  },
}

/** Of a package with a binary for each system and Node, only this one's; copies from before a repair, and types, not at all. */
const fits = (name) =>
  name.endsWith('.node')
    ? !name.startsWith('uws_') || name === `uws_${platform}_${arch}_${versions.modules}.node`
    : !/\.(orig|d\.ts|md)$/.test(name)

function addPackage(name, folder) {
  const from = join(root, 'node_modules', name)
  if (!existsSync(from))
    throw new Error(`${name} is not installed: an image needs glibc, and packages installed by npm ci`)
  const to = join(folder, 'node_modules', name)
  mkdirSync(to, { recursive: true })
  const files = readdirSync(from, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && fits(entry.name),
  )
  for (const { name: file } of files) cpSync(join(from, file), join(to, file))
}

/** @param name of the image @param folder that is made, or emptied */
export async function layOut(name, folder) {
  const { entries, packages, files } = images[name]
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  // Names and lines of functions are kept as they are: nothing is minified.
  await compile(entries, folder, { sourcemap: false })
  files(folder)
  cpSync(join(root, 'infra/images/health.mjs'), join(folder, 'health.mjs'))
  for (const each of packages) addPackage(each, folder)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ name: `svc-${name}`, version, type: 'module' })}\n`,
  )
}

if (process.argv[1] === import.meta.filename) {
  const [name, folder] = process.argv.slice(2)
  if (!Object.hasOwn(images, name ?? '') || !folder) {
    console.error(`node tools/image.mjs ${Object.keys(images).join('|')} FOLDER`)
    process.exit(1)
  }
  await layOut(name, resolve(folder))
}
