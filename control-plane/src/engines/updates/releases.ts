import { targetOf } from '@svc/proto'
import semver from 'semver'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Addressed } from './address.ts'

export type Component = 'agent' | 'helper'

/** The newest release of one target, as it is offered. */
export interface LatestAsset extends Addressed {
  kind: Component
  size: number
  sha256: string
  sequence: number
  expiresAt: Date
  manifest: Buffer
  signature: Buffer
  keyId: string
}

const listLatest = (db: Pick<WorkerDb, 'rows'>) => db.rows<LatestAsset>`
  select a.kind, a.os, a.arch, a.size, a.sha256, a.url, r.version, r.sequence, r.expires_at, r.manifest, r.signature, r.key_id
  from release_assets a join releases r on r.id = a.release_id where a.is_latest`

/** Versions that are compared: a fleet reports a handful. */
const maxVersions = 1_000

/** The newest release of every target, at one moment. */
export class LatestTable {
  /** tells one table of a process from another */
  readonly generation: number
  readonly #assets: ReadonlyMap<string, LatestAsset>
  readonly #newest: Readonly<Record<Component, string | undefined>>
  readonly #outdated = new Map<string, boolean>()

  constructor(assets: readonly LatestAsset[], generation = 0) {
    this.generation = generation
    this.#assets = new Map(assets.map((asset) => [targetOf(asset), asset]))
    const newest = (kind: Component) =>
      semver.rsort(assets.filter((asset) => asset.kind === kind).map(({ version }) => version)).at(0)
    this.#newest = { agent: newest('agent'), helper: newest('helper') }
  }

  /**
   * Whether some target has a newer release of the component: for almost every device a look into a map. A version that is none
   * is a build of somebody's own, and never outdated.
   */
  mayBeOutdated(kind: Component, version: string): boolean {
    const key = `${kind} ${version}`
    const known = this.#outdated.get(key)
    if (known !== undefined) return known
    if (this.#outdated.size >= maxVersions) this.#outdated.clear()
    const outdated = isOlder(version, this.#newest[kind])
    this.#outdated.set(key, outdated)
    return outdated
  }

  /** What a device of this target, that reports `version`, is to be updated to. */
  newerThan(kind: Component, os: string, arch: string, version: string): LatestAsset | undefined {
    const asset = this.#assets.get(targetOf({ kind, os, arch }))
    return asset && isOlder(version, asset.version) ? asset : undefined
  }
}

const isOlder = (version: string, than: string | undefined) =>
  than !== undefined && semver.valid(version) !== null && semver.lt(version, than)

/** The table of the present, read again when it is older than `releasesMs`. */
export class LatestReleases {
  #table: LatestTable | undefined
  #content = ''
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<LatestTable> | undefined

  /** @param maxAgeMs releases registered by other processes are known after this at the latest */
  async current(db: Pick<WorkerDb, 'rows'>, maxAgeMs: number): Promise<LatestTable> {
    if (this.#table && performance.now() - this.#readAt < maxAgeMs) return this.#table
    this.#reading ??= this.#read(db).finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Something was registered. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  async #read(db: Pick<WorkerDb, 'rows'>): Promise<LatestTable> {
    const at = performance.now()
    const assets = await listLatest(db)
    const content = assets
      .map((asset) => `${targetOf(asset)}=${asset.version}`)
      .toSorted()
      .join()
    const same = this.#table && content === this.#content ? this.#table : undefined
    this.#table = same ?? new LatestTable(assets, (this.#table?.generation ?? 0) + 1)
    this.#content = content
    this.#readAt = at
    return this.#table
  }
}
