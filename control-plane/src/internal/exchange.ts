import { svc } from '@svc/proto'
import { silently } from '@svc/proto/log'
import { present, type Shown } from '../engines/identity/present.ts'
import { findOwedOn, forgetOffers } from '../engines/work/claim.ts'
import { offerOwed } from '../engines/work/offer.ts'
import { handleCarried, type InboxDeps } from '../inbox/inbox.ts'
import type { WorkerDb } from '../kernel/db.ts'
import { AnswerOutlet } from './outlet.ts'
import {
  listProfiles,
  listRevocations,
  type Moment,
  type ProfileRow,
  renewNode,
  type RevocationRow,
} from './queries.ts'

const { Standing, CloseReason } = svc.v1

/** A device that was pre-created is admitted like an active one: its first contact makes it active. */
const standings = {
  pending: Standing.ACTIVE,
  active: Standing.ACTIVE,
  quarantined: Standing.STANDING_QUARANTINED,
  decommissioned: Standing.STANDING_DECOMMISSIONED,
} as const

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A name that a gateway may go by: it becomes part of a channel's name. */
export const isNodeName = (node: string): boolean => /^[\w.-]{1,128}$/.test(node)

/** An {@link svc.v1.ExchangeAnswer} whose profiles all say their standing. */
type Profile = svc.v1.IDeviceProfile & { standing: svc.v1.Standing }
export type Answer = svc.v1.IExchangeAnswer & { profiles: Profile[]; messages: Uint8Array[] }

export interface ExchangeDeps extends InboxDeps {
  /** what devices are told at admission */
  heartbeatIntervalMs: number
  /** the number of the database's present life; absent: gateways are not told of it */
  life?: () => Promise<number>
  /** told of what was carried up, once it is committed */
  carried: (batches: number, items: number) => void
}

/** What has been owed for so many heartbeats or longer is offered with those. */
const owedForBeats = 2.5
/** Commands looked at for one answer. */
const owedAtOnce = 2_000

/**
 * One turn of a gateway with the control plane (docs/decisions/0016): renews its lease, says who the devices are that it asks about,
 * and what credentials have died since; takes in what it carries up, as the streams' readers would, and hands it what they would
 * publish for it, and, where nothing that is published reaches it, what its devices are owed.
 *
 * @param deps `db` of scope `system`
 * @throws when the database could not do all of it: then the gateway knows nothing, and what it carries up it carries again
 */
export async function exchange(deps: ExchangeDeps, request: svc.v1.ExchangeRequest): Promise<Answer> {
  const outlet = new AnswerOutlet(deps.ports.bus, request.node)
  const own: ExchangeDeps = { ...deps, ports: { ...deps.ports, bus: outlet } }
  // First of all: commands go to nodes with a lease alone.
  const { nodeLeaseMs } = deps.ports.config.pipeline
  const moment = request.upAlone ? undefined : await deps.db.tx((tx) => renewNode(tx, request, nodeLeaseMs))
  const [told] = await Promise.all([
    moment ? tell(deps, request, moment) : { profiles: [] },
    takeUp(own, request.up),
  ])
  // Not heard of again: what fails here fails the call.
  if (request.busGap) await deps.db.tx((tx) => forgetOffers(tx, request.node))
  const hearsNothing = request.busAway || request.busGap || !deps.ports.bus.up
  if (!request.upAlone && hearsNothing) await offerOwn(own, request.node)
  return { ...told, upAccepted: request.up.length > 0, messages: outlet.messages }
}

async function takeUp(deps: ExchangeDeps, up: svc.v1.ExchangeRequest['up']): Promise<void> {
  if (up.length === 0) return
  deps.carried(up.length, await handleCarried(deps, up))
}

/** Without hints nobody else would think of it before the next heartbeat. Only that is lost by a failure. */
async function offerOwn(deps: ExchangeDeps, node: string): Promise<void> {
  const { db, ports, log, heartbeatIntervalMs } = deps
  try {
    await offerOwed(db, ports, await findOwedOn(db, node, owedForBeats * heartbeatIntervalMs, owedAtOnce))
  } catch (error) {
    log.warn({ err: error, node }, 'commands were not offered with an answer')
  }
}

/**
 * Profiles are read before revocations, so that whatever dies in between is told dead: the gateway applies them in that order.
 */
async function tell(deps: ExchangeDeps, request: svc.v1.ExchangeRequest, { now, xact }: Moment) {
  const { db, heartbeatIntervalMs, life: findLife, ports } = deps
  // First: a database that was restored meanwhile is not to speak in the name of the one before.
  const life = (await findLife?.()) ?? 0
  const ids = [...new Set(request.admissions.map(({ deviceId }) => deviceId ?? ''))]
  // Before who they are is read: what they show may change it.
  const replaced = await present(
    {
      ...deps,
      security: deps.security ?? silently,
      replacedMs: ports.config.pipeline.credentialReplacedMs,
    },
    request.admissions.flatMap(shownOf),
  )
  const renewMs = ports.config.pipeline.credentialRenewMs
  const profiles = await profilesOf(db, ids, { heartbeatIntervalMs, renewMs })
  // A database that counts from lower numbers now, or whose clock was put back, has not seen what is asked for.
  const revocations = await listRevocations(db, {
    now: Math.min(request.revocationsSinceMs, now),
    xact: Math.min(request.revocationsSinceXact, xact),
  })
  return {
    serverTimeMs: now,
    profiles: profiles.map((one) => ({ ...one, life, replaced: replaced.has(one.deviceId ?? '') })),
    revocations: revocations.map((row) => ({ ...revocation(row), life })),
    revocationsCursorMs: now,
    revocationsCursorXact: xact,
    life,
  }
}

const sha256Bytes = 32

/** What somebody waits with. A question about the device alone shows nothing. */
function shownOf({ deviceId, tokenSha256, proof }: svc.v1.IAdmissionQuery): Shown[] {
  if (!deviceId || !uuidForm.test(deviceId) || tokenSha256?.length !== sha256Bytes) return []
  const proven = proof ? { atUs: proof.atUs ?? 0, signature: proof.signature ?? new Uint8Array() } : undefined
  return [{ deviceId, tokenSha256, proof: proven }]
}

/** One answer for each id asked: an unknown device is told by its standing, so that the gateway can stop asking. */
async function profilesOf(db: WorkerDb, ids: string[], numbers: Numbers) {
  const asked = ids.filter((id) => uuidForm.test(id))
  const known = asked.length === 0 ? [] : await listProfiles(db, asked)
  const byId = new Map(known.map((row) => [row.id, row]))
  return ids.map((id) => profile(id, byId.get(id), numbers))
}

/** What every device is told. */
interface Numbers {
  heartbeatIntervalMs: number
  renewMs: number
}

function profile(
  id: string,
  row: ProfileRow | undefined,
  { heartbeatIntervalMs, renewMs }: Numbers,
): Profile {
  if (!row) return { deviceId: id, standing: Standing.STANDING_UNSPECIFIED }
  const standing = standings[row.lifecycle]
  return {
    deviceId: id,
    // Whose tenant is suspended may come back: such a device is told to wait, like one in quarantine.
    standing: standing === Standing.ACTIVE && !row.admitted ? Standing.STANDING_QUARANTINED : standing,
    tokenSha256: row.tokenSha256 ?? new Uint8Array(),
    credentialVersion: row.credentialVersion,
    orgId: row.orgId,
    partnerId: row.partnerId,
    epochFloor: row.epoch ?? 0,
    renewAtMs: row.tokenIssuedMs === null ? 0 : row.tokenIssuedMs + renewMs,
    publicKey: row.publicKey ?? new Uint8Array(),
    heartbeatIntervalMs,
  }
}

const isReason = (name: string): name is keyof typeof CloseReason => Object.hasOwn(CloseReason, name)

const revocation = ({ deviceId, credentialVersion, reason, atMs }: RevocationRow): svc.v1.IRevocation => ({
  deviceId,
  credentialVersion,
  atMs,
  reason: isReason(reason) ? CloseReason[reason] : CloseReason.CREDENTIAL_REVOKED,
})
