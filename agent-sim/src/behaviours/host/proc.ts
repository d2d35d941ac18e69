import { readFile } from 'node:fs/promises'

/** The text of a file of the kernel, or undefined when it is not there (any more) or not for us. */
export async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (gone.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/**
 * ESRCH: a process ended between opening and reading its file (proc(5)). EIO: firmware tables that cannot be read. EINVAL: what the
 * driver of a network interface does not know.
 */
const gone = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENOTDIR', 'EIO', 'ENODEV', 'EINVAL'])

/** Lines of `Key:   value`, as in /proc/meminfo and /proc/<pid>/status. */
export function fieldsOf(text: string): Map<string, string> {
  const pairs = text.split('\n').map((line): [string, string] => {
    const at = line.indexOf(':')
    return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
  })
  return new Map(pairs)
}

/** `1234 kB` in bytes; the kernel means KiB. */
export const bytesOf = (value: string | undefined): number => (value ? Number.parseInt(value, 10) * 1024 : 0)

/** /proc/<pid>/stat and /proc/stat count in these; fixed at 100 per second for user space on every Linux architecture in use. */
export const ticksPerSecond = 100

/** When the kernel started, in seconds since 1970: /proc/stat `btime`. */
export async function bootTime(): Promise<number> {
  const stat = (await textOf('/proc/stat')) ?? ''
  return Number(/^btime (\d+)$/m.exec(stat)?.[1] ?? 0)
}
