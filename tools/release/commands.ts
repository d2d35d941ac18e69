import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Manifest, releaseArchitectures, releaseKinds, releaseSystems } from '@svc/proto'
import { misread } from '../command-line.mjs'
import { agentFile } from './agent-file.ts'
import { allTargets, buildRelease, type Release, type Target } from './build.ts'
import { readReleaseKey } from './keys.ts'

const dayMs = 86_400_000

/** Something in the command line is wrong; the message is one line. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const options = {
  version: { type: 'string' },
  out: { type: 'string' },
  key: { type: 'string' },
  sequence: { type: 'string' },
  'expires-days': { type: 'string', default: '30' },
  'released-at': { type: 'string' },
  kinds: { type: 'string', default: 'agent' },
  targets: { type: 'string', default: allTargets.map(({ os, arch }) => `${os}/${arch}`).join(',') },
  helper: { type: 'string' },
  notes: { type: 'string', default: '' },
  data: { type: 'string', default: process.env['SVC_DATA'] || '.svc' },
} as const

export type Given = ReturnType<typeof readSwitches>

/** The switches of a command. @throws UsageError */
export function readSwitches(args: string[]) {
  try {
    return parseArgs({ args, options, strict: true }).values
  } catch (error) {
    throw new UsageError(misread(error))
  }
}

/** @throws UsageError naming the switch that is missing */
export function required(given: Given, name: 'version' | 'out' | 'key'): string {
  const value = given[name]
  if (!value) throw new UsageError(`--${name} is needed`)
  return value
}

/** The version as manifests say it; a `v` in front is let pass. @throws UsageError when it is missing, or none */
export function versionOf(given: Given): string {
  const value = required(given, 'version')
  const { data: version } = Manifest.shape.version.safeParse(value.replace(/^v/, ''))
  if (version === undefined)
    throw new UsageError(`--version needs one such as 1.2.3 or 1.2.3-rc.1, not ${value}`)
  return version
}

function whole(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${name} needs a number from 1 on, not ${text}`)
  return Number(text)
}

const words = (text: string) => text.split(',').filter(Boolean)

function targetOf(text: string): Target {
  const [system = '', architecture = ''] = text.split('/')
  const os = releaseSystems.find((name) => name === system)
  const arch = releaseArchitectures.find((name) => name === architecture)
  if (!os || !arch) throw new UsageError(`--targets: ${text} is none of ${options.targets.default}`)
  return { os, arch }
}

async function filesOf(given: Given, version: string) {
  const kinds = new Set<string>([...words(given.kinds), ...(given.helper ? ['helper'] : [])])
  const unknown = [...kinds].find((kind) => !(releaseKinds as readonly string[]).includes(kind))
  if (unknown) throw new UsageError(`--kinds: ${unknown} is none of ${releaseKinds.join(', ')}`)
  if (kinds.has('helper') && !given.helper) throw new UsageError('--kinds helper needs --helper FILE')
  return {
    ...(kinds.has('agent') && { agent: await agentFile(version) }),
    ...(given.helper && { helper: readFileSync(given.helper) }),
  }
}

/** Builds what the switches say. @param sequence where they do not say it @throws UsageError */
export async function releaseOf(given: Given, keyFile: string, sequence: number): Promise<Release> {
  const version = versionOf(given)
  const releasedAt = given['released-at'] ? new Date(given['released-at']) : new Date()
  if (Number.isNaN(releasedAt.getTime())) throw new UsageError('--released-at needs a date')
  return buildRelease({
    version,
    sequence: given.sequence ? whole('sequence', given.sequence) : sequence,
    key: readReleaseKey(keyFile),
    releasedAt,
    expiresAt: new Date(releasedAt.getTime() + whole('expires-days', given['expires-days']) * dayMs),
    files: await filesOf(given, version),
    targets: words(given.targets).map(targetOf),
    notes: given.notes,
  })
}
