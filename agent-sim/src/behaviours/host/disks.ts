import { statfs } from 'node:fs/promises'
import type { svc } from '@svc/proto'
import { textOf } from './proc.ts'

/** A mount of /proc/self/mountinfo (proc(5)). `device` is major:minor. */
export interface Mount {
  device: string
  mountPoint: string
  fsType: string
  source: string
}

/** On a disk of its own, but nobody's to fill: read-only images. */
const images = new Set(['squashfs', 'iso9660', 'udf', 'erofs', 'cramfs', 'romfs'])
/** Real, although the kernel lists them as needing no device. */
const poolBased = new Set(['zfs', 'bcachefs'])

const unescape = (text: string) =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

export const parseMounts = (text: string): Mount[] =>
  text.split('\n').flatMap((line) => {
    const [left = '', right] = line.split(' - ')
    if (right === undefined) return []
    const [, , device = '', , mountPoint = ''] = left.split(' ')
    const [fsType = '', source = ''] = right.split(' ')
    return [{ device, mountPoint: unescape(mountPoint), fsType, source: unescape(source) }]
  })

/**
 * File systems that hold data on a disk, each once: what is mounted in several places counts where its path is shortest. The root
 * counts whatever it is (in a container: an overlay). Memory, kernel and network file systems do not: the last may hang.
 */
export function realMounts(mounts: readonly Mount[], deviceless: ReadonlySet<string>): Mount[] {
  const real = ({ fsType, mountPoint }: Mount) =>
    mountPoint === '/' || ((poolBased.has(fsType) || !deviceless.has(fsType)) && !images.has(fsType))
  // Of several mounts on one path the last hides the others.
  const visible = new Map(mounts.map((mount) => [mount.mountPoint, mount]))
  const byDevice = new Map<string, Mount>()
  for (const mount of [...visible.values()].filter(real)) {
    const known = byDevice.get(mount.device)
    if (!known || mount.mountPoint.length < known.mountPoint.length) byDevice.set(mount.device, mount)
  }
  return [...byDevice.values()].toSorted((a, b) => (a.mountPoint < b.mountPoint ? -1 : 1))
}

/** The `nodev` lines of /proc/filesystems (proc(5)). */
const parseDeviceless = (text: string): Set<string> =>
  new Set(text.split('\n').flatMap((line) => (line.startsWith('nodev') ? [line.slice(5).trim()] : [])))

async function usage({ mountPoint, source, fsType }: Mount): Promise<svc.v1.Disk.$Properties[]> {
  try {
    const { bsize, blocks, bfree, bavail } = await statfs(mountPoint)
    return [
      {
        mountPoint,
        device: source,
        fsType,
        totalBytes: blocks * bsize,
        usedBytes: (blocks - bfree) * bsize,
        freeBytes: bavail * bsize,
      },
    ]
  } catch {
    // Unmounted since the table was read, or not for us to see.
    return []
  }
}

/** As `df -k` says it: blocks that are kept for root are neither used nor free. */
export async function readDisks(): Promise<svc.v1.Disk.$Properties[]> {
  const [mountinfo = '', filesystems = ''] = await Promise.all([
    textOf('/proc/self/mountinfo'),
    textOf('/proc/filesystems'),
  ])
  const mounts = realMounts(parseMounts(mountinfo), parseDeviceless(filesystems))
  return (await Promise.all(mounts.map(usage))).flat()
}
