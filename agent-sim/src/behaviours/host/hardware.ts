import { readdir } from 'node:fs/promises'
import type { svc } from '@svc/proto'
import si from 'systeminformation'
import { readDisks } from './disks.ts'
import { bytesOf, fieldsOf, textOf } from './proc.ts'

interface Cpu {
  model: string
  cores: number
  threads: number
}

/** /proc/cpuinfo: one block per thread; a core is a pair of `physical id` and `core id`. ARM has neither, nor a model name. */
export function parseCpu(text: string): Cpu {
  const blocks = text
    .split('\n\n')
    .map(fieldsOf)
    .filter((block) => block.has('processor'))
  const cores = new Set(
    blocks.flatMap((b) => (b.has('core id') ? [`${b.get('physical id')}:${b.get('core id')}`] : [])),
  )
  return { model: blocks[0]?.get('model name') ?? '', cores: cores.size, threads: blocks.length }
}

/** Sum of the disks in /sys/block that are devices and not made of others (loop, ram, zram, md, dm are); in 512-byte sectors. */
async function disksTotal(): Promise<number> {
  const names = await readdir('/sys/block').catch(() => [])
  const sizes = await Promise.all(names.filter((name) => !madeUp.test(name)).map(sizeOf))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total > 0) return total
  return (await readDisks()).reduce((sum, disk) => sum + (disk.totalBytes ?? 0), 0)
}

const madeUp = /^(loop|ram|zram|dm-|md|sr|fd|nbd)/

const sizeOf = async (name: string): Promise<number> =>
  Number((await textOf(`/sys/block/${name}/size`)) ?? 0) * 512

/** The library answers `-` or a word where the firmware says nothing. */
const said = (text: string | undefined): string =>
  !text || /^(-|unknown|none)$/i.test(text.trim()) ? '' : text.trim()

/** Firmware and graphics come from the library, which knows where each kind of machine keeps them. */
export async function readHardware(): Promise<svc.v1.Hardware.$Properties> {
  const cpuinfo = (await textOf('/proc/cpuinfo')) ?? ''
  const meminfo = fieldsOf((await textOf('/proc/meminfo')) ?? '')
  const [diskTotalBytes, system, bios, graphics] = await Promise.all([
    disksTotal(),
    si.system(),
    si.bios(),
    si.graphics(),
  ])
  const cpu = parseCpu(cpuinfo)
  const fallback = cpu.model && cpu.cores ? undefined : await si.cpu()
  return {
    cpuModel: cpu.model || said(fallback?.brand),
    cpuCores: cpu.cores || fallback?.physicalCores || cpu.threads,
    cpuThreads: cpu.threads,
    ramTotalBytes: bytesOf(meminfo.get('MemTotal')),
    diskTotalBytes,
    serialNumber: said(system.serial),
    manufacturer: said(system.manufacturer),
    model: said(system.model),
    biosVersion: said(bios.version),
    gpuModel: said(graphics.controllers[0]?.model),
    isVirtual: system.virtual || /^flags\s*:.*\bhypervisor\b/m.test(cpuinfo),
    virtualizationPlatform: said(system.virtualHost).toLowerCase(),
  }
}
