import { makeDeviceToken, tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import type { Ctx } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import type { Ports } from '../../../kernel/ports.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import {
  countActiveDevices,
  findDeviceLimit,
  findPartnerRoom,
  insertDevice,
  insertHardware,
  insertPresence,
  type KeyUse,
  lockOrganization,
  type NewDevice,
  useEnrollmentKey,
} from './queries.ts'
import type { Enroll, Enrolled } from './schema.ts'

type EnrollCtx = Ctx<Record<string, never>, unknown, Enroll>
type GoodKey = Extract<KeyUse, { refusal: null }>

const action = 'device.enroll'

/**
 * A new device in the site that the key is bound to. A hostname that is known already still makes a new device: nothing is
 * taken over on the word of a newcomer.
 *
 * @throws ApiError 401 ENROLLMENT_KEY_INVALID alike for an unknown, expired, exhausted or revoked key: the reason is in the
 * audit log; 403 DEVICE_LIMIT_REACHED
 */
export async function enroll(ctx: EnrollCtx): Promise<Enrolled> {
  const { body, client, ports } = ctx
  const key = await usableKey(ctx)
  const db = await ctx.establish({ kind: 'tenant', partnerId: key.partnerId, orgs: [key.orgId] })
  await takePlace(ctx, db, key)
  const id = uuid()
  const token = makeDeviceToken(id)
  const device = { ...key, id, tokenSha256: tokenHash(token), ip: client.ip }
  await insertAll(db, device, body)
  await announce(ctx, device)
  return { ...start(ports), deviceId: id, deviceToken: token, orgId: key.orgId, siteId: key.siteId }
}

async function usableKey(ctx: EnrollCtx): Promise<GoodKey> {
  const key = await useEnrollmentKey(ctx.db, tokenHash(ctx.body.enrollmentKey))
  if (!key) throw new Error('use_enrollment_key answered no row')
  if (key.refusal === null) return key
  refuse(ctx, key, key.refusal)
  throw new ApiError('ENROLLMENT_KEY_INVALID', 'the enrollment key is not valid')
}

/** A denied row for the audit log, which alone says why. */
function refuse(ctx: EnrollCtx, key: KeyUse, reason: string) {
  const { keyId, partnerId, orgId } = key
  ctx.refused({
    action,
    result: 'denied',
    type: 'enrollment_key',
    ...(keyId && { id: keyId }),
    ...(partnerId && { partnerId }),
    ...(orgId && { orgId }),
    details: { reason, hostname: ctx.body.hostname },
  })
}

/** Holds a place under the limits of organization and partner until the transaction ends. */
async function takePlace(ctx: EnrollCtx, db: Db, key: GoodKey) {
  if ((await findDeviceLimit(db, key.orgId)) !== null) {
    const most = (await lockOrganization(db, key.orgId))?.maxDevices ?? null
    const devices = most === null ? 0 : await countActiveDevices(db, key.orgId)
    requireRoom(ctx, key, 'organization', devices, most)
  }
  const room = await findPartnerRoom(db, key.partnerId)
  if (room) requireRoom(ctx, key, 'partner', room.devices, room.maxDevices)
}

function requireRoom(ctx: EnrollCtx, key: GoodKey, whose: string, devices: number, most: number | null) {
  if (most === null || devices < most) return
  refuse(ctx, key, `device limit of the ${whose} reached`)
  throw new ApiError('DEVICE_LIMIT_REACHED', `the ${whose} has ${devices} of ${most} devices`, {
    details: [{ currentDevices: devices, maxDevices: most }],
  })
}

async function insertAll(db: Db, device: NewDevice, facts: Enroll) {
  await insertDevice(db, device, facts)
  await insertPresence(db, device)
  if (facts.hardware) await insertHardware(db, device, facts.hardware)
}

async function announce(ctx: EnrollCtx, { id, partnerId, orgId, siteId, keyId }: NewDevice) {
  const { hostname, osType } = ctx.body
  const actor = { type: 'device', id } as const
  ctx.audited({
    actor,
    type: 'device',
    id,
    name: hostname,
    partnerId,
    orgId,
    details: { siteId, enrollmentKeyId: keyId },
  })
  const payload = { deviceId: id, siteId, hostname, osType }
  ctx.emit({ type: 'device.enrolled', subjectId: id, partnerId, orgId, payload })
}

/** What every agent is told, whoever it is. */
function start({ config, signingKeys }: Ports) {
  return {
    gatewayUrls: gatewayUrlsOf(config.gatewayUrls),
    commandSigningKeys: signingKeys.publicKeys(),
    releaseKeys: config.releaseKeys.map(({ keyId, publicKey }) => ({ keyId, publicKey })),
    config: { heartbeatIntervalSeconds: config.heartbeatIntervalMs / 1000 },
  }
}

/** A scheme says what is spoken; over WebSocket the path does. */
function gatewayUrlsOf(urls: readonly string[]) {
  const isMqtt = (url: string) => /^mqtts?:/.test(url) || /^wss?:\/\/[^/]+\/mqtt\/?$/.test(url)
  return { websocket: urls.filter((url) => !isMqtt(url)), mqtt: urls.filter(isMqtt) }
}
