import type { svc } from '@svc/proto'
import type { Random } from '../../clock.ts'
import type { Facts } from '../behaviour.ts'
import { between, dice, pick } from './dice.ts'

const gib = 2 ** 30

/** A simulated machine: what it is made of. The same number always gives the same machine. */
export interface Profile {
  facts: Facts
  hardware: svc.v1.Hardware.$Properties
  disks: svc.v1.Disk.$Properties[]
  user: string
  bootedAtMs: number
}

interface Model {
  manufacturer: string
  model: string
  cpu: string
  cores: number
  threads: number
  ramGib: readonly [number, ...number[]]
  gpu: string
  bios: string
}

interface Make {
  osType: Facts['osType']
  osName: string
  versions: readonly [[version: string, build: string], ...[version: string, build: string][]]
  role: Facts['deviceRole']
  prefix: string
  architecture: string
  fsType: string
  mounts: readonly [string, ...string[]]
  device: (at: number) => string
  models: readonly [Model, ...Model[]]
}

const windows: Make = {
  osType: 'windows',
  osName: 'Windows 11 Pro',
  versions: [
    ['10.0.22631', '22631.4602'],
    ['10.0.26100', '26100.2894'],
  ],
  role: 'workstation',
  prefix: 'WS',
  architecture: 'amd64',
  fsType: 'NTFS',
  mounts: ['C:', 'D:'],
  device: (at) => `\\\\.\\PHYSICALDRIVE${at}`,
  models: [
    {
      manufacturer: 'Northwind',
      model: 'Slate 14',
      cpu: 'Intel Core i5-1345U',
      cores: 10,
      threads: 12,
      ramGib: [8, 16],
      gpu: 'Intel Iris Xe',
      bios: '1.18.0',
    },
    {
      manufacturer: 'Northwind',
      model: 'Tower 500',
      cpu: 'Intel Core i7-13700',
      cores: 16,
      threads: 24,
      ramGib: [16, 32, 64],
      gpu: 'Intel UHD 770',
      bios: '2.4.1',
    },
    {
      manufacturer: 'Contoso',
      model: 'Flex 13',
      cpu: 'AMD Ryzen 5 7530U',
      cores: 6,
      threads: 12,
      ramGib: [8, 16],
      gpu: 'AMD Radeon Graphics',
      bios: 'R2A09',
    },
  ],
}

const mac: Make = {
  osType: 'macos',
  osName: 'macOS',
  versions: [
    ['14.7.2', '23H311'],
    ['15.2', '24C101'],
  ],
  role: 'workstation',
  prefix: 'MAC',
  architecture: 'arm64',
  fsType: 'apfs',
  mounts: ['/'],
  device: (at) => `/dev/disk${at + 3}s1`,
  models: [
    {
      manufacturer: 'Apple Inc.',
      model: 'Mac14,2',
      cpu: 'Apple M2',
      cores: 8,
      threads: 8,
      ramGib: [8, 16, 24],
      gpu: 'Apple M2',
      bios: '11881.61.3',
    },
    {
      manufacturer: 'Apple Inc.',
      model: 'Mac15,6',
      cpu: 'Apple M3 Pro',
      cores: 12,
      threads: 12,
      ramGib: [18, 36],
      gpu: 'Apple M3 Pro',
      bios: '11881.61.3',
    },
  ],
}

const linux: Make = {
  osType: 'linux',
  osName: 'Debian GNU/Linux',
  versions: [
    ['11', '5.10.0-33-amd64'],
    ['12', '6.1.0-28-amd64'],
  ],
  role: 'server',
  prefix: 'SRV',
  architecture: 'amd64',
  fsType: 'ext4',
  mounts: ['/', '/var', '/srv'],
  device: (at) => `/dev/sda${at + 1}`,
  models: [
    {
      manufacturer: 'Fabrikam',
      model: 'Rack R220',
      cpu: 'Intel Xeon E-2336',
      cores: 6,
      threads: 12,
      ramGib: [32, 64],
      gpu: '',
      bios: '1.9.2',
    },
    {
      manufacturer: 'Fabrikam',
      model: 'Rack R640',
      cpu: 'AMD EPYC 7313P',
      cores: 16,
      threads: 32,
      ramGib: [64, 128, 256],
      gpu: '',
      bios: '2.12.4',
    },
  ],
}

const users = ['anna', 'bilal', 'chen', 'dora', 'emil', 'fatima', 'goran', 'hanna'] as const
const longestUptimeMs = 40 * 86_400_000

export function makeProfile(number: number, prefix: string, now: number): Profile {
  const random = dice(number)
  // Seven of ten run Windows, as in the fleets of small businesses.
  const make = pick(random, [
    windows,
    windows,
    windows,
    windows,
    windows,
    windows,
    windows,
    mac,
    linux,
    linux,
  ])
  const [osVersion, osBuild] = pick(random, make.versions)
  const model = pick(random, make.models)
  const disks = makeDisks(make, random)
  return {
    facts: {
      hostname: `${prefix}${make.prefix}-${String(number).padStart(5, '0')}`,
      osType: make.osType,
      osName: make.osName,
      osVersion,
      osBuild,
      architecture: make.architecture,
      bootId: `sim-${number}-${Math.floor(random() * 2 ** 32).toString(16)}`,
      deviceRole: make.role,
    },
    hardware: {
      cpuModel: model.cpu,
      cpuCores: model.cores,
      cpuThreads: model.threads,
      ramTotalBytes: pick(random, model.ramGib) * gib,
      diskTotalBytes: disks.reduce((sum, disk) => sum + (disk.totalBytes ?? 0), 0),
      serialNumber: `SIM${String(number).padStart(7, '0')}`,
      manufacturer: model.manufacturer,
      model: model.model,
      biosVersion: model.bios,
      gpuModel: model.gpu,
      isVirtual: false,
      virtualizationPlatform: '',
    },
    disks,
    user: make.role === 'workstation' ? pick(random, users) : '',
    bootedAtMs: Math.floor(now - random() * longestUptimeMs),
  }
}

function makeDisks({ mounts, device, fsType }: Make, random: Random): svc.v1.Disk.$Properties[] {
  return mounts.slice(0, between(random, 1, mounts.length)).map((mountPoint, at) => {
    const totalBytes = pick(random, [128, 256, 512, 1024]) * gib
    const usedBytes = Math.floor(totalBytes * (0.15 + 0.75 * random()))
    return {
      mountPoint,
      device: device(at),
      fsType,
      totalBytes,
      usedBytes,
      freeBytes: totalBytes - usedBytes,
    }
  })
}
