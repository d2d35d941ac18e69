import { arch, hostname, release } from 'node:os'
import type { svc } from '@svc/proto'
import type { Facts } from '../behaviour.ts'
import { bootTime, textOf } from './proc.ts'

/** Node's names → the ones that packages and kernels go by. */
const architectures: Record<string, string> = { x64: 'amd64', ia32: '386' }

/** A machine with a display manager is a workstation; everything else on Linux is a server. */
const graphical = '/etc/systemd/system/display-manager.service'

/** Shell-like assignments (os-release(5)). */
export const parseOsRelease = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^([A-Z0-9_]+)=(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(.*))$/gm)].map(
      ([, key = '', double, single, bare]) => [key, double?.replace(/\\(.)/g, '$1') ?? single ?? bare ?? ''],
    ),
  )

export async function readFacts(): Promise<Facts> {
  const text = (await textOf('/etc/os-release')) ?? (await textOf('/usr/lib/os-release')) ?? ''
  const { NAME = 'Linux', VERSION_ID = '' } = parseOsRelease(text)
  return {
    hostname: hostname(),
    osType: 'linux',
    osName: NAME,
    osVersion: VERSION_ID,
    osBuild: release(),
    architecture: architectures[arch()] ?? arch(),
    bootId: ((await textOf('/proc/sys/kernel/random/boot_id')) ?? '').trim(),
    deviceRole: (await textOf(graphical)) === undefined ? 'server' : 'workstation',
  }
}

export const operatingSystem = async (facts: Facts): Promise<svc.v1.OperatingSystem.$Properties> => ({
  hostname: hostname(),
  osType: facts.osType,
  name: facts.osName,
  version: facts.osVersion,
  build: facts.osBuild,
  architecture: facts.architecture,
  bootId: facts.bootId,
  bootedAtMs: (await bootTime()) * 1000,
})
