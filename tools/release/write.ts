import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Manifest } from '@svc/proto'
import type { Release } from './build.ts'

export const manifestName = 'manifest.json'
export const signatureName = 'manifest.json.sig'

/**
 * Writes a release to `folder/<version>`: `manifest.json`, `manifest.json.sig` (JSON `{keyId, signature}`) and the assets, whole or
 * not at all. This is what BINARY_DIR holds and what is uploaded to a release host. A release that is there is never replaced.
 *
 * @returns its folder @throws Error when that version is there already
 */
export function writeRelease(folder: string, release: Release): string {
  const place = join(folder, release.manifest.version)
  if (existsSync(place)) throw new Error(`${place} is there already: a version is released once`)
  const half = join(folder, `.new-${release.manifest.version}-${process.pid}`)
  try {
    mkdirSync(half, { recursive: true, mode: 0o755 })
    for (const { name, bytes } of release.assets)
      writeFileSync(join(half, name), bytes, { mode: 0o755, flush: true })
    writeFileSync(join(half, signatureName), `${JSON.stringify(release.signature)}\n`, { flush: true })
    writeFileSync(join(half, manifestName), release.manifestBytes, { flush: true })
    renameSync(half, place)
  } finally {
    rmSync(half, { recursive: true, force: true })
  }
  return place
}

/** The sequence after the highest of the releases in a folder; 1 where there is none. */
export function nextSequence(folder: string): number {
  const names = existsSync(folder) ? readdirSync(folder) : []
  const files = names.map((name) => join(folder, name, manifestName)).filter((file) => existsSync(file))
  const sequences = files.map((file) => Manifest.parse(JSON.parse(readFileSync(file, 'utf8'))).sequence)
  return Math.max(0, ...sequences) + 1
}
