import type { Clock } from '../../adapters/clock.ts'
import type { svc } from '@svc/proto'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Pipeline } from '../../pipeline.ts'
import { type Connection, deliver, type Outlet } from '../work/deliver.ts'
import { addressOf } from './address.ts'
import type { UpdateDesk } from './desk.ts'
import { architectureOf, systemOf } from './platform.ts'
import type { Component, LatestAsset, LatestTable } from './releases.ts'
import { claimOffers, giveBackOffers, listStandings, type Standing } from './rows.ts'

/** What telling devices of releases and configurations needs of the ports. */
export interface UpdatePorts {
  clock: Clock
  bus: Outlet
  updates: UpdateDesk
  config: {
    pipeline: Pick<Pipeline, 'updateOfferMs' | 'releasesMs'>
    releaseKeys: readonly { keyId: string }[]
  }
}

/** What a device said of itself in its last heartbeat, and the configuration that it is to have by then. */
export interface CheckIn {
  from: Connection
  agentVersion: string | undefined
  helperVersion: string | undefined
  /** as it reports; 0: none yet */
  configVersion: number
  wantedConfig: number
}

/** A device that something is to be looked up for, and why. */
interface Look {
  checkIn: CheckIn
  outdated: boolean
  misconfigured: boolean
}

/**
 * After a batch of heartbeats is committed: offers releases to those that are behind, and sends those the present configuration that
 * report another. A fleet that is where it is to be costs no question at all. Whatever is lost is said again after its time.
 */
export async function answerCheckIns(
  db: WorkerDb,
  ports: UpdatePorts,
  checkIns: readonly CheckIn[],
): Promise<void> {
  if (checkIns.length === 0 || !ports.bus.up) return
  const { updates, config } = ports
  const table = await updates.releases.current(db, config.pipeline.releasesMs)
  const looks = checkIns.flatMap((checkIn) => lookOf(updates, table, checkIn) ?? [])
  if (looks.length === 0) return
  try {
    await answerLooks(db, ports, table, looks)
  } catch (error) {
    for (const { checkIn } of looks) forget(updates, checkIn.from.deviceId)
    throw error
  }
}

function forget({ looked, told }: UpdateDesk, deviceId: string): void {
  looked.delete(deviceId)
  told.delete(deviceId)
}

async function answerLooks(
  db: WorkerDb,
  ports: UpdatePorts,
  table: LatestTable,
  looks: readonly Look[],
): Promise<void> {
  const standings = new Map(
    (
      await listStandings(
        db,
        looks.map(({ checkIn }) => checkIn.from.deviceId),
      )
    ).map((one) => [one.id, one]),
  )
  const found = looks.flatMap((look) => {
    const standing = standings.get(look.checkIn.from.deviceId)
    return standing ? [{ ...look, standing }] : []
  })
  await configure(
    ports,
    found.filter(({ misconfigured }) => misconfigured),
  )
  await offer(
    db,
    ports,
    table,
    found.filter(({ outdated }) => outdated),
  )
}

function lookOf(desk: UpdateDesk, table: LatestTable, checkIn: CheckIn): Look | undefined {
  const { from, agentVersion, helperVersion, configVersion, wantedConfig } = checkIn
  const behind =
    (agentVersion !== undefined && table.mayBeOutdated('agent', agentVersion)) ||
    (helperVersion !== undefined && table.mayBeOutdated('helper', helperVersion))
  const outdated = behind && isNew(desk.looked, from.deviceId, lookKey(table, checkIn))
  const misconfigured =
    configVersion !== wantedConfig && isNew(desk.told, from.deviceId, `${from.epoch} ${wantedConfig}`)
  return outdated || misconfigured ? { checkIn, outdated, misconfigured } : undefined
}

/** Whatever of this changes is a reason to look again: the configuration holds whether the device may be updated. */
const lookKey = (table: LatestTable, { agentVersion, helperVersion, wantedConfig }: CheckIn) =>
  `${agentVersion} ${helperVersion} ${wantedConfig} ${table.generation}`

function isNew(known: UpdateDesk['looked'], deviceId: string, key: string): boolean {
  if (known.get(deviceId) === key) return false
  known.set(deviceId, key)
  return true
}

type Found = Look & { standing: Standing }

async function configure({ bus, updates }: UpdatePorts, found: readonly Found[]): Promise<void> {
  await Promise.all(
    found.map(async ({ checkIn: { from }, standing: { configVersion: version, autoUpdate } }) => {
      const heard = await deliver(bus, from, { configUpdate: { version, autoUpdate } })
      if (!heard) updates.told.delete(from.deviceId)
    }),
  )
}

interface Wanted {
  to: Connection
  asset: LatestAsset
}

async function offer(
  db: WorkerDb,
  ports: UpdatePorts,
  table: LatestTable,
  found: readonly Found[],
): Promise<void> {
  const trusted = new Set(ports.config.releaseKeys.map(({ keyId }) => keyId))
  const wanted = found
    .flatMap((one) => wantedBy(one, table))
    // What no agent would take is not worth its way.
    .filter(({ asset }) => trusted.has(asset.keyId) && asset.expiresAt > ports.clock.now())
  if (wanted.length === 0) return
  const claims = wanted.map(({ to, asset }) => ({
    deviceId: to.deviceId,
    component: asset.kind,
    version: asset.version,
  }))
  const claimed = await db.tx((tx) => claimOffers(tx, claims, ports.config.pipeline.updateOfferMs))
  const mine = new Set(claimed.map(({ deviceId, component }) => `${deviceId} ${component}`))
  const going = wanted.filter(({ to, asset }) => mine.has(`${to.deviceId} ${asset.kind}`))
  const heard = await Promise.all(
    going.map(({ to, asset }) => deliver(ports.bus, to, { updateOffer: offerOf(asset) })),
  )
  const unheard = going.filter((_, i) => !heard[i])
  if (unheard.length === 0) return
  for (const { to } of unheard) ports.updates.looked.delete(to.deviceId)
  const back = unheard.map(({ to, asset }) => ({ deviceId: to.deviceId, component: asset.kind }))
  await db.tx((tx) => giveBackOffers(tx, back))
}

function wantedBy({ checkIn, standing }: Found, table: LatestTable): Wanted[] {
  const os = systemOf(standing.osType)
  const arch = architectureOf(standing.architecture ?? '')
  if (!os || !arch || !standing.autoUpdate) return []
  const newer = (kind: Component, version: string | undefined) =>
    version === undefined ? undefined : table.newerThan(kind, os, arch, version)
  const assets = [newer('agent', checkIn.agentVersion), newer('helper', checkIn.helperVersion)]
  return assets.flatMap((asset) => (asset ? [{ to: checkIn.from, asset }] : []))
}

const offerOf = (asset: LatestAsset): svc.v1.IUpdateOffer => ({
  component: asset.kind,
  version: asset.version,
  url: addressOf(asset),
  size: asset.size,
  sha256: Buffer.from(asset.sha256, 'hex'),
  manifest: asset.manifest,
  signature: asset.signature,
  keyId: asset.keyId,
  sequence: asset.sequence,
  expiresAtMs: asset.expiresAt.getTime(),
})
