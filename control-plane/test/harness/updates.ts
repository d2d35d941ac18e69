import { type Manifest, svc } from '@svc/proto'
import { UpdateDesk } from '../../src/engines/updates/desk.ts'
import { registerRelease } from '../../src/engines/updates/register.ts'
import { handleEntries, type InboxDeps } from '../../src/inbox/inbox.ts'
import type { ShardLease } from '../../src/inbox/lease.ts'
import { type DeviceFacts, entry, item, makeDevices, makeNode, own, type TestPipeline } from './pipeline.ts'
import { makeRelease } from './release.ts'

export interface Machine extends DeviceFacts {
  osType?: string
  architecture?: string | null
  autoUpdate?: boolean
}

type PhaseName = Exclude<keyof typeof svc.v1.UpdatePhase, 'UPDATE_PHASE_UNSPECIFIED'>

let saidAt = 0
/** What a device on node `n1` says of an update from 1.0.0 to 1.1.0. */
export const status = (
  deviceId: string,
  phase: PhaseName,
  more: svc.v1.IUpdateStatus = {},
  epoch = 7,
  receivedAtMs = Date.now(),
) => ({
  deviceId,
  epoch,
  receivedAtMs,
  updateStatus: {
    component: 'agent',
    fromVersion: '1.0.0',
    toVersion: '1.1.0',
    phase: svc.v1.UpdatePhase[phase],
    atMs: ++saidAt,
    ...more,
  },
})

interface Scene {
  fresh: () => InboxDeps
  /** who handles what devices say */
  worker: InboxDeps
  /** The worker is started anew. */
  restart: () => void
  clear: () => Promise<void>
  release: (version: string, more?: Parameters<typeof makeRelease>[2]) => Promise<Manifest>
  /** A Linux machine with 1.0.0, online at epoch 7, unless told otherwise. */
  machine: (facts?: Machine) => Promise<string>
  handle: (items: svc.v1.IUpItem[], by?: InboxDeps) => Promise<void>
  beat: (id: string, heartbeat?: svc.v1.IHeartbeat, epoch?: number) => Promise<void>
}

/** Releases, devices of node `n1` and a worker that hears them, on a pipeline. Call `clear` before each test. */
export function updatesOn(on: TestPipeline): Scene {
  const { sql, db, deps } = on
  let lease: ShardLease = { shard: 0, owner: '', fence: 0 }
  let sequence = 0
  /** A worker that has just been started remembers nothing. */
  const fresh = (): InboxDeps => ({
    ...deps,
    ports: { ...deps.ports, updates: new UpdateDesk(deps.ports.config.pipeline) },
  })
  const scene: Scene = {
    fresh,
    worker: fresh(),
    restart: () => {
      scene.worker = fresh()
    },
    clear: async () => {
      await sql`truncate devices, device_presence, device_updates, gateway_nodes, outbox, releases, release_assets cascade`
      await makeNode(on, 'n1')
      lease = await own(on, 0)
      sequence = 0
      scene.restart()
    },
    release: async (version, more = {}) => {
      sequence += 1
      const { manifest, manifestBytes: bytes, signature: signed } = makeRelease(version, sequence, more)
      const signature = Buffer.from(signed.signature, 'base64')
      const addresses = manifest.assets.map(() => null)
      await db.tx((tx) => registerRelease(tx, { manifest, bytes, signature, keyId: signed.keyId, addresses }))
      scene.worker.ports.updates.releases.forget()
      return manifest
    },
    machine: async (facts = {}) => {
      const { osType = 'linux', architecture = 'x86_64', autoUpdate = true, ...rest } = facts
      const [id = ''] = await makeDevices(on, 1, { connectivity: 'online', node: 'n1', epoch: 7, ...rest })
      await sql`
        update devices set os_type = ${osType}, architecture = ${architecture}, auto_update_enabled = ${autoUpdate},
          agent_version = '1.0.0' where id = ${id}`
      return id
    },
    handle: async (items, by = scene.worker) => {
      await handleEntries(by, lease, [entry('n1', items)])
      await new Promise((resolve) => setImmediate(resolve))
    },
    beat: (id, heartbeat = {}, epoch = 7) => scene.handle([item.beat(id, epoch, heartbeat)]),
  }
  return scene
}
