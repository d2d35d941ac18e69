import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { svc } from '@svc/proto'
import { copyProgram, hashOf, type Place, restore, type Swap, swapIn, swapOnDisk } from '../launcher/place.ts'
import { download } from './download.ts'
import { failureOf, UpdateFailed } from './reasons.ts'

const { UpdatePhase } = svc.v1

/** A file on its way into the place of another. */
export interface Replacement {
  place: Place
  url: URL
  size: number
  /** hex */
  sha256: string
  signal: AbortSignal
  /** the steps of the swap; a test's own */
  swap?: Swap | undefined
  tell: (phase: svc.v1.UpdatePhase) => void
  /** A download begins. Rejects when it may not. */
  downloading: () => Promise<void>
  /** The backup stands, with that hash; next the old file goes. Rejects when that may not be. */
  secured: (backup: string) => Promise<void>
}

/**
 * Download, verification, backup, swap. Until the swap nothing of the old file is touched; when this rejects it is in its place.
 * What was downloaded stays for another try only when the file was busy. @throws UpdateFailed
 */
export async function replace(replacement: Replacement): Promise<void> {
  const { place, tell, secured, swap = swapOnDisk, signal } = replacement
  try {
    tell(UpdatePhase.DOWNLOADING)
    await fetchFresh(replacement)
    tell(UpdatePhase.VERIFYING)
    // As it stands on the disk: what came over the wire was right already.
    if ((await hashOf(place.fresh)) !== replacement.sha256) throw new UpdateFailed('bad_hash', 'on the disk')
    tell(UpdatePhase.BACKING_UP)
    await secured(await copyProgram(place.file, place.backup))
    signal.throwIfAborted()
    tell(UpdatePhase.SWAPPING)
    await swapOrRestore(place, swap)
  } catch (error) {
    const failure = failureOf(error)
    if (failure.reason !== 'text_busy') await rm(place.fresh, { force: true }).catch(() => undefined)
    throw failure
  }
}

async function fetchFresh({ place, url, size, sha256, signal, downloading }: Replacement): Promise<void> {
  await mkdir(dirname(place.fresh), { recursive: true, mode: 0o700 })
  if ((await hashOf(place.fresh)) === sha256) return
  await downloading()
  await download(place.fresh, { url, size, sha256, signal })
}

/** Without a file in its place nothing would start. */
async function swapOrRestore(place: Place, swap: Swap): Promise<void> {
  try {
    await swapIn(place, swap)
  } catch (error) {
    if ((await hashOf(place.file)) === undefined) await restore(place)
    throw error
  }
}
