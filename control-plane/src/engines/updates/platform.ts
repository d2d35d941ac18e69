import type { releaseArchitectures, releaseSystems } from '@svc/proto'

export type ReleaseSystem = (typeof releaseSystems)[number]
export type ReleaseArchitecture = (typeof releaseArchitectures)[number]

/** What machines call themselves, by what releases call it. */
const systems: Record<string, ReleaseSystem> = {
  linux: 'linux',
  macos: 'macos',
  darwin: 'macos',
  windows: 'windows',
}
const architectures: Record<string, ReleaseArchitecture> = {
  amd64: 'amd64',
  x86_64: 'amd64',
  x64: 'amd64',
  arm64: 'arm64',
  aarch64: 'arm64',
}

const own = <T>(table: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

/** undefined: there are no releases for it */
export const systemOf = (name: string): ReleaseSystem | undefined => own(systems, name.toLowerCase())
export const architectureOf = (name: string): ReleaseArchitecture | undefined =>
  own(architectures, name.toLowerCase())

export const systemNames = Object.keys(systems)
export const architectureNames = Object.keys(architectures)
