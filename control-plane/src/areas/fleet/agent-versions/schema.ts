import { releaseArchitectures, releaseKinds, releaseSystems } from '@svc/proto'
import { z } from 'zod'
import {
  architectureNames,
  architectureOf,
  type ReleaseArchitecture,
  type ReleaseSystem,
  systemNames,
  systemOf,
} from '../../../engines/updates/platform.ts'

/** A name for an operating system or architecture, read as releases call it. */
const named = <T extends string>(names: readonly string[], read: (name: string) => T | undefined) =>
  z
    .enum(names as [string, ...string[]])
    .transform((name, check) => {
      const known = read(name)
      if (known) return known
      check.issues.push({ code: 'custom', input: name, message: 'is not known' })
      return z.NEVER
    })
    .describe(`One of ${names.join(', ')}`)

export const Platform = named<ReleaseSystem>(systemNames, systemOf)
export const Architecture = named<ReleaseArchitecture>(architectureNames, architectureOf)
export const Component = z.enum(releaseKinds)

/** As it stands in a manifest; a leading `v`, which release tags have, is left out. */
export const Version = z
  .string()
  .regex(/^v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]{1,40})?$/, 'must be a semantic version')
  .transform((version) => version.replace(/^v/, ''))
  .describe('Semantic version, such as `1.4.0`; a leading `v` is ignored')

/** What is asked for of a release. */
export const Target = z.strictObject({
  platform: Platform,
  arch: Architecture,
  component: Component.default('agent').describe('`agent` when left out'),
})
export type Target = z.output<typeof Target>

const ReleasedAsset = z.object({
  component: Component,
  platform: z.enum(releaseSystems),
  arch: z.enum(releaseArchitectures),
  name: z.string(),
  fileSize: z.int().describe('Bytes'),
  checksum: z.string().describe('SHA-256, hexadecimal'),
  isLatest: z.boolean().describe('Agents of this target are updated to it'),
})

/** A registered release with its files. `isLatest`: it is the latest for one target at least. */
export const AgentVersion = z
  .object({
    id: z.uuid(),
    version: z.string(),
    sequence: z.int().describe('Rises with each release; agents never go to a lower one'),
    releasedAt: z.date(),
    expiresAt: z.date().describe('Agents take it until then'),
    releaseNotes: z.string(),
    signingKeyId: z.string(),
    isLatest: z.boolean(),
    createdAt: z.date().describe('When it was registered here'),
    assets: z.array(ReleasedAsset),
  })
  .meta({ id: 'AgentVersion', description: 'A registered release of agents with its files.' })
export type AgentVersion = z.output<typeof AgentVersion>

/** All that an installer needs to fetch the latest release of one target, and to prove it. */
export const LatestVersion = ReleasedAsset.omit({ isLatest: true })
  .extend({
    version: z.string(),
    sequence: z.int(),
    releasedAt: z.date(),
    expiresAt: z.date(),
    releaseNotes: z.string(),
    downloadUrl: z.string(),
    manifest: z.string().describe('The signed description of the release, byte by byte as signed'),
    manifestSignature: z.string().describe('Ed25519, base64'),
    signingKeyId: z.string(),
  })
  .meta({ id: 'LatestVersion', description: 'The latest release for one target, and what proves it.' })
export type LatestVersion = z.output<typeof LatestVersion>

export const SyncQuery = z.strictObject({
  version: Version.optional().describe(
    'The release to register; the newest that is no pre-release when left out',
  ),
})
export type SyncQuery = z.output<typeof SyncQuery>

/** interface §Agents and versions. */
export const Synced = z
  .object({
    version: z.string(),
    synced: z.array(z.string()).describe('Targets, `<kind>:<os>/<arch>`'),
  })
  .meta({ id: 'Synced', description: 'What was registered.' })
export type Synced = z.output<typeof Synced>
