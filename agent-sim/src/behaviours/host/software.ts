import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import { type Package, parseApk, parseDpkg, parseRpm, rpmFormat } from './packages.ts'
import { textOf } from './proc.ts'

/** A whole distribution is below this; more is not an inventory of a machine. */
const maxPackages = 20_000
/** An inventory is one frame, and a gateway takes 4 MiB of it. */
const maxBytes = 3.5 * 1024 * 1024
const longest = { name: 255, version: 128, vendor: 128, architecture: 32 } as const

const dpkgFolder = '/var/lib/dpkg'
const apkFiles = ['/lib/apk/db/installed', '/usr/lib/apk/db/installed']
const rpmFolders = ['/usr/lib/sysimage/rpm', '/var/lib/rpm']
const rpmWithinMs = 60_000

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** When each package was unpacked last: its list of files is written then. By `name` or, of multi-arch ones, `name:architecture`. */
async function dpkgTimes(folder: string): Promise<Map<string, number>> {
  const lists = (await readdir(folder).catch((): string[] => [])).filter((name) => name.endsWith('.list'))
  const times = lists.map(async (name): Promise<[string, number]> => {
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: 0 })) // removed since
    return [name.slice(0, -'.list'.length), Math.floor(mtimeMs / 1000) * 1000]
  })
  return new Map(await Promise.all(times))
}

async function readDpkg(folder: string): Promise<Package[]> {
  const text = await textOf(join(folder, 'status'))
  if (text === undefined) return []
  const times = await dpkgTimes(join(folder, 'info'))
  return parseDpkg(text, (name, architecture) => times.get(`${name}:${architecture}`) ?? times.get(name) ?? 0)
}

async function readApk(): Promise<Package[]> {
  for (const file of apkFiles) {
    const text = await textOf(file)
    if (text !== undefined) return parseApk(text)
  }
  return []
}

/** Its database has had several formats, all of which the program itself reads; where it is missing there is nothing to tell. */
async function readRpm(): Promise<Package[]> {
  const there = await Promise.all(rpmFolders.map(exists))
  if (!there.includes(true)) return []
  const options = { timeout: rpmWithinMs, maxBuffer: 64 * 1024 * 1024 }
  const args = ['-qa', '--queryformat', rpmFormat]
  return new Promise((resolve, reject) => {
    execFile('rpm', args, options, (error, stdout) => {
      if (error && error.code !== 'ENOENT') reject(error)
      else resolve(parseRpm(stdout))
    })
  })
}

interface Keyed {
  key: string
  one: Package
}

const keyed = (one: Package): Keyed => ({
  key: [one.name, one.architecture, one.version, one.source].join('\0'),
  one,
})

/** In an order of its own, so that the same packages are the same bytes; as many of them as one frame holds. */
export function bounded(packages: readonly Package[]): Package[] {
  let room = maxBytes
  const sorted = packages
    .map((one) => keyed(shortened(one)))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .slice(0, maxPackages)
    .map(({ one }) => one)
  const end = sorted.findIndex((one) => {
    room -= svc.v1.Package.encode(one).finish().length + 4 // its tag and length
    return room < 0
  })
  return end < 0 ? sorted : sorted.slice(0, end)
}

const shortened = (one: Package): Package => ({
  ...one,
  name: one.name?.slice(0, longest.name) ?? '',
  version: one.version?.slice(0, longest.version) ?? '',
  vendor: one.vendor?.slice(0, longest.vendor) ?? '',
  architecture: one.architecture?.slice(0, longest.architecture) ?? '',
})

/** What the package managers of this host have installed; there may be more than one of them. */
export async function readSoftware(folder = dpkgFolder): Promise<svc.v1.Software.$Properties> {
  const found = await Promise.all([readDpkg(folder), readRpm(), readApk()])
  return { packages: bounded(found.flat()) }
}
