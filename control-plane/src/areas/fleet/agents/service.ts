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
  giveNextToken,
  type KeyUse,
  lockDeviceOfKey,
  lockOrganization,
  type NewDevice,
  useEnrollmentKey,
  useEnrollmentKeyOfDevice,
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
  const before = await sameDevice(ctx, db, key)
  if (before) return before
  await takePlace(ctx, db, key)
  const id = uuid()
  const token = makeDeviceToken(id)
  const device = { ...key, id, tokenSha256: tokenHash(token), ip: client.ip }
  await insertAll(db, device, body)
  await announce(ctx, device)
  return { ...start(ports), deviceId: id, deviceToken: token, orgId: key.orgId, siteId: key.siteId }
}

/**
 * A device that enrolls again with the key that it made, because no answer reached it: it is the one that it was, and gets another token
 * beside the first. Who was ever connected had its answer; then nobody gets a token on the word of a public key.
 *
 * @throws ApiError 409 ALREADY_EXISTS
 */
async function sameDevice(ctx: EnrollCtx, db: Db, key: GoodKey): Promise<Enrolled | undefined> {
  const { publicKey } = ctx.body
  const known = publicKey && (await lockDeviceOfKey(db, key.orgId, publicKey))
  if (!known) return undefined
  if (!known.isNew) throw new ApiError('ALREADY_EXISTS', 'a device with this key is enrolled')
  const token = makeDeviceToken(known.id)
  await giveNextToken(db, known.id, tokenHash(token))
  const { partnerId, orgId, keyId } = key
  const actor = { type: 'device', id: known.id } as const
  const details = { siteId: known.siteId, enrollmentKeyId: keyId, again: true }
  ctx.audited({ actor, type: 'device', id: known.id, name: ctx.body.hostname, partnerId, orgId, details })
  return { ...start(ctx.ports), deviceId: known.id, deviceToken: token, orgId, siteId: known.siteId }
}

async function usableKey(ctx: EnrollCtx): Promise<GoodKey> {
  const { enrollmentKey, publicKey } = ctx.body
  const hash = tokenHash(enrollmentKey)
  const key = await (publicKey
    ? useEnrollmentKeyOfDevice(ctx.db, hash, publicKey)
    : useEnrollmentKey(ctx.db, hash))
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
  const { devices, most } = await holdPlace(db, key.orgId)
  requireRoom(ctx, key, 'organization', devices, most)
  const room = await findPartnerRoom(db, key.partnerId)
  if (room) requireRoom(ctx, key, 'partner', room.devices, room.maxDevices)
}

/**
 * How many devices an organization has, and how many it may (null: as many as it likes); where it is limited, whoever adds one after this
 * waits until the transaction ends.
 */
export async function holdPlace(db: Db, orgId: string): Promise<{ devices: number; most: number | null }> {
  if ((await findDeviceLimit(db, orgId)) === null) return { devices: 0, most: null }
  const most = (await lockOrganization(db, orgId))?.maxDevices ?? null
  return { devices: most === null ? 0 : await countActiveDevices(db, orgId), most }
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
