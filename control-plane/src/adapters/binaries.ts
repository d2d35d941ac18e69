import { createReadStream } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { maxManifestBytes } from '@svc/proto'
import semver from 'semver'
import {
  type FoundRelease,
  manifestName,
  maxSignatureBytes,
  readSignature,
  type ReleaseSource,
  signatureName,
  SourceFailed,
} from './releases.ts'

const isAbsent = (error: unknown) =>
  ['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))

/** Size of a plain file; undefined for anything else. */
async function sizeOf(file: string): Promise<number | undefined> {
  try {
    const found = await stat(file)
    return found.isFile() ? found.size : undefined
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw new SourceFailed(`BINARY_DIR: ${(error as Error).message}`, { cause: error })
  }
}

/** The whole of a small file, or one byte more than `most`. */
async function readSmall(file: string, most: number): Promise<Uint8Array | undefined> {
  if ((await sizeOf(file)) === undefined) return undefined
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(most + 1), 0, most + 1, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

async function versionsIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => semver.valid(name) === name)
  } catch (error) {
    if (isAbsent(error)) return []
    throw new SourceFailed(`BINARY_DIR: ${(error as Error).message}`, { cause: error })
  }
}

const newestStable = (versions: readonly string[]) =>
  semver.rsort(versions.filter((version) => semver.prerelease(version) === null)).at(0)

/** Releases on a disk of ours: `folder/<version>/{manifest.json, manifest.json.sig, assets}` (BINARY_SOURCE=local). */
export function localReleases(folder: string): ReleaseSource {
  return {
    find: async (wanted) => {
      const version = wanted ?? newestStable(await versionsIn(folder))
      // A version is the name of a folder: what is none could lead anywhere.
      return version === undefined || semver.valid(version) !== version
        ? undefined
        : read(join(folder, version), version)
    },
    open: async ({ version, name, size }, start, end) => {
      const file = join(folder, version, name)
      if ((await sizeOf(file)) !== size)
        throw new SourceFailed(`BINARY_DIR: ${version}/${name} is not what it was`)
      return createReadStream(file, { start, end })
    },
  }
}

async function read(place: string, version: string): Promise<FoundRelease | undefined> {
  const manifest = await readSmall(join(place, manifestName), maxManifestBytes)
  const signature = await readSmall(join(place, signatureName), maxSignatureBytes)
  if (!manifest || !signature) return undefined
  return {
    version,
    manifest,
    ...readSignature(Buffer.from(signature).toString('utf8')),
    address: () => null,
    read: async (name, size, signal) =>
      (await sizeOf(join(place, name))) === undefined
        ? undefined
        : createReadStream(join(place, name), { end: size, signal }),
  }
}
