/**
 * The gateway's socket engine ships binaries linked against a newer glibc than long-lived systems have, although all
 * it takes from there is three C23 twins of functions that every glibc has (`__isoc23_strtol` for `strtol`, and so
 * on). Where the running glibc is too old, the binary is told to take the plain functions. Delete this file when no
 * supported system needs it.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SHT_DYNSYM = 11
const SHT_VERNEED = 0x6ffffffe
const SHT_VERSYM = 0x6fffffff
const SYMBOL_BYTES = 24
const TWIN = '__isoc23_'

/** What is wrong with the file, said to whoever installs. */
export class Refusal extends Error {}

/** Compares dotted numbers: negative when `a` is the older one. */
export function compareVersions(a, b) {
  const [x, y] = [a, b].map((text) => text.split('.').map(Number))
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0)
    if (difference) return difference
  }
  return 0
}

/** The hash by which the dynamic loader compares version names (System V ABI, "Hash Table"). */
export function elfHash(name) {
  let hash = 0
  for (const byte of Buffer.from(name, 'latin1')) {
    hash = ((hash << 4) + byte) >>> 0
    const top = hash & 0xf0000000
    hash = (hash ^ (top >>> 24) ^ top) >>> 0
  }
  return hash
}

/** The sections of a 64-bit little-endian ELF file. */
function readSections(file) {
  if (file.toString('latin1', 0, 4) !== '\x7fELF') throw new Refusal('not an ELF file')
  if (file[4] !== 2 || file[5] !== 1) throw new Refusal('not a 64-bit little-endian ELF file')
  const start = Number(file.readBigUInt64LE(0x28))
  const [entryBytes, count] = [file.readUInt16LE(0x3a), file.readUInt16LE(0x3c)]
  return Array.from({ length: count }, (_, i) => {
    const at = start + i * entryBytes
    const section = {
      type: file.readUInt32LE(at + 4),
      offset: Number(file.readBigUInt64LE(at + 24)),
      size: Number(file.readBigUInt64LE(at + 32)),
      link: file.readUInt32LE(at + 40),
      info: file.readUInt32LE(at + 44),
    }
    const SHT_NOBITS = 8
    if (section.type !== SHT_NOBITS && section.offset + section.size > file.length)
      throw new Refusal('the file is cut short')
    return section
  })
}

/** Every version that the binary asks of a library: `{library, version, at}`, `at` being its entry in the file. */
function* versionNeeds(file, section, text) {
  let need = section.offset
  for (let i = 0; i < section.info; i++) {
    let at = need + file.readUInt32LE(need + 8)
    for (let k = file.readUInt16LE(need + 2); k > 0; k--) {
      yield { library: text(file.readUInt32LE(need + 4)), version: text(file.readUInt32LE(at + 8)), at }
      at += file.readUInt32LE(at + 12)
    }
    need += file.readUInt32LE(need + 12)
  }
}

/**
 * A copy of the binary that asks for nothing newer than glibc `have`, or undefined when it already is one. Throws a
 * Refusal when it needs something that the older glibc lacks altogether, or is not a file of the expected kind.
 */
export function lowerGlibcNeed(original, have) {
  try {
    return rewrite(Buffer.from(original), have)
  } catch (error) {
    if (error instanceof RangeError) throw new Refusal('the file is cut short or damaged')
    throw error
  }
}

function rewrite(file, have) {
  const sections = readSections(file)
  const find = (type) => sections.find((section) => section.type === type)
  const [symbols, versions, needs] = [find(SHT_DYNSYM), find(SHT_VERSYM), find(SHT_VERNEED)]
  const strings = symbols && sections[symbols.link]
  if (!symbols || !versions || !needs || !strings) throw new Refusal('no table of needed versions in it')
  const text = (offset) => {
    const end = offset < strings.size ? file.indexOf(0, strings.offset + offset) : -1
    if (end < 0 || end >= strings.offset + strings.size) throw new Refusal('a name lies outside its table')
    return file.toString('latin1', strings.offset + offset, end)
  }

  const glibc = [...versionNeeds(file, needs, text)]
    .filter(({ library, version }) => library.startsWith('libc.so') && /^GLIBC_[\d.]+$/.test(version))
    .map((need) => ({ ...need, number: need.version.slice('GLIBC_'.length) }))
    .sort((a, b) => compareVersions(a.number, b.number))
  const tooNew = glibc.filter(({ number }) => compareVersions(number, have) > 0)
  if (tooNew.length === 0) return undefined
  const oldest = glibc[0]
  if (tooNew.includes(oldest)) throw new Refusal('no version in it is old enough')

  // vna_other: the number by which a symbol names its version; the top bit only says "hidden".
  const numbers = new Map(tooNew.map(({ at, version }) => [file.readUInt16LE(at + 6) & 0x7fff, version]))
  for (let i = 0; i < symbols.size / SYMBOL_BYTES; i++) {
    const version = numbers.get(file.readUInt16LE(versions.offset + i * 2) & 0x7fff)
    if (!version) continue
    const at = symbols.offset + i * SYMBOL_BYTES
    const nameAt = file.readUInt32LE(at)
    if (!text(nameAt).startsWith(TWIN)) throw new Refusal(`it needs ${text(nameAt)} of ${version}`)
    file.writeUInt32LE(nameAt + TWIN.length, at)
  }
  for (const { at } of tooNew) {
    file.writeUInt32LE(elfHash(oldest.version), at)
    file.writeUInt32LE(file.readUInt32LE(oldest.at + 8), at + 8)
  }
  return file
}

/**
 * Rewrites a binary in place, keeping the untouched one beside it as `.orig`. True when something was changed. The
 * new file is complete before it takes the old one's name, so a crash leaves one or the other.
 */
export function adaptFile(path, have) {
  const adapted = lowerGlibcNeed(readFileSync(path), have)
  if (!adapted) return false
  const temporary = `${path}.${process.pid}.tmp`
  try {
    copyFileSync(path, `${path}.orig`)
    writeFileSync(temporary, adapted, { mode: statSync(path).mode })
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
  return true
}

/** The engine's binary for the running Node, if it is installed and there is one. */
export function findBinary() {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('uWebSockets.js'))
    const path = join(folder, `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`)
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

/** The running glibc's version; undefined on systems without it. */
export function glibcVersion() {
  process.report.excludeNetwork = true // otherwise the report looks up the names of every peer
  return process.report.getReport().header.glibcVersionRuntime
}

/** Makes the engine loadable here where that needs anything. Never throws: without it the gateway has `ws`. */
export function adaptEngine() {
  const have = glibcVersion()
  const path = findBinary()
  if (process.platform !== 'linux' || !have || compareVersions(have, '2.38') >= 0 || !path) return
  try {
    adaptFile(path, have)
  } catch (error) {
    console.error(
      `uWebSockets.js cannot be adapted to glibc ${have} (${error.message}): the gateway will use ws`,
    )
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) adaptEngine()
