import { readFile } from 'node:fs/promises'

/** Of a process, as the kernel counts it (proc(5), `VmRSS`). */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  if (!kib) throw new Error(`process ${pid} does not say how large it is`)
  return Number(kib) * 1024
}
