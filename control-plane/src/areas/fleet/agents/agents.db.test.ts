import { generateKeyPairSync } from 'node:crypto'
import { deviceIdOf, tokenHash } from '@svc/proto'
import { beforeAll, expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import { releaseKeyId, releasePublicKey } from '../../../../test/harness/release.ts'

const t = await testApp()
const { make } = t

const facts = {
  hostname: 'WS-17',
  osType: 'linux',
  osVersion: '12',
  architecture: 'amd64',
  agentVersion: '1.4.0',
} as const

let address = 0
/** From an address of its own, so that no test uses up another's limit. */
const enroll = (
  enrollmentKey: string,
  more: object = {},
  remoteAddress = `10.1.${address >> 8}.${address++ & 255}`,
) => t.request('POST /agents/enroll', null, { body: { enrollmentKey, ...facts, ...more }, remoteAddress })

interface AuditRow {
  result: string
  actorType: string
  actorId: string | null
  partnerId: string | null
  orgId: string | null
  resourceType: string
  resourceId: string | null
  details: Record<string, unknown>
}
const audits = (hostname: string) => t.db.rows<AuditRow>`
  select result, actor_type, actor_id, partner_id, org_id, resource_type, resource_id, details from audit_log
  where action = 'device.enroll' and (resource_name = ${hostname} or details ->> 'hostname' = ${hostname}) order by at, id`

const usage = async (keyId: string) =>
  (await t.db.one<{ usageCount: number }>`select usage_count from enrollment_keys where id = ${keyId}`)
    ?.usageCount

const deviceCount = async (orgId: string) =>
  (await t.db.one<{ n: number }>`select count(*)::int as n from devices where org_id = ${orgId}`)?.n

let signingKey: string
beforeAll(() => {
  signingKey = t.core.ports.signingKeys.publicKeys()[0]?.publicKey ?? ''
})

test('a device enrolls into the site of the key and is told all that it needs', async () => {
  const key = await make.enrollmentKey()
  const publicKey = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? ''
  const answer = await enroll(key.key, {
    publicKey: Buffer.from(publicKey, 'base64url').toString('base64'),
    hardware: { cpuModel: 'EPYC', cpuCores: 8, ramTotalBytes: 16 * 2 ** 30 },
    deviceRole: 'server',
    isVirtual: true,
    virtualizationPlatform: 'kvm',
    osBuild: '6.1.0',
  })
  expect(answer.status).toBe(201)
  const { deviceId, deviceToken, ...rest } = answer.body
  expect(deviceIdOf(deviceToken)).toBe(deviceId)
  expect(rest).toEqual({
    orgId: key.orgId,
    siteId: key.siteId,
    gatewayUrls: { websocket: ['ws://127.0.0.1:8443/agent'], mqtt: [] },
    commandSigningKeys: [{ keyId: expect.any(String), publicKey: signingKey }],
    releaseKeys: [{ keyId: releaseKeyId, publicKey: releasePublicKey }],
    config: { heartbeatIntervalSeconds: 60 },
  })
  expect(Buffer.from(signingKey, 'base64')).toHaveLength(32)
  const device = await t.db.one`
    select d.partner_id, d.org_id, d.site_id, d.hostname, d.os_type, d.os_version, d.os_build, d.architecture, d.agent_version,
      d.device_role, d.is_virtual, d.virtualization_platform, d.lifecycle, d.status, d.credential_version, d.token_sha256,
      d.public_key, d.enrollment_key_id, host(d.enrollment_ip) as ip, d.enrolled_at is not null as enrolled, p.epoch, p.last_seen_at,
      h.cpu_model, h.cpu_cores, h.ram_total_bytes, h.gpu_model
    from devices d join device_presence p on p.device_id = d.id join device_hardware h on h.device_id = d.id where d.id = ${deviceId}`
  expect(device).toMatchObject({
    partnerId: key.partnerId,
    orgId: key.orgId,
    siteId: key.siteId,
    hostname: 'WS-17',
    osType: 'linux',
    osVersion: '12',
    osBuild: '6.1.0',
    architecture: 'amd64',
    agentVersion: '1.4.0',
    deviceRole: 'server',
    isVirtual: true,
    virtualizationPlatform: 'kvm',
    lifecycle: 'active',
    status: 'offline',
    credentialVersion: 1,
    tokenSha256: tokenHash(deviceToken),
    publicKey: Buffer.from(publicKey, 'base64url'),
    enrollmentKeyId: key.id,
    enrolled: true,
    epoch: 0,
    lastSeenAt: null,
    cpuModel: 'EPYC',
    cpuCores: 8,
    ramTotalBytes: 16 * 2 ** 30,
    gpuModel: null,
  })
  expect(await usage(key.id)).toBe(1)
})

test('an enrollment leaves one audit row, by the device, and one event', async () => {
  const key = await make.enrollmentKey()
  const { body } = await enroll(key.key, { hostname: 'audited-host' })
  expect(await audits('audited-host')).toEqual([
    {
      result: 'success',
      actorType: 'device',
      actorId: body.deviceId,
      partnerId: key.partnerId,
      orgId: key.orgId,
      resourceType: 'device',
      resourceId: body.deviceId,
      details: { siteId: key.siteId, enrollmentKeyId: key.id },
    },
  ])
  const events = await t.db
    .rows`select type, partner_id, org_id, payload from outbox where subject_id = ${body.deviceId}`
  expect(events).toEqual([
    {
      type: 'device.enrolled',
      partnerId: key.partnerId,
      orgId: key.orgId,
      payload: { deviceId: body.deviceId, siteId: key.siteId, hostname: 'audited-host', osType: 'linux' },
    },
  ])
})

test('a hostname that is known already makes a new device and leaves the old one its credential', async () => {
  const key = await make.enrollmentKey()
  const [first, second] = [await enroll(key.key), await enroll(key.key)]
  expect(second.body.deviceId).not.toBe(first.body.deviceId)
  const [row] = await t.db.rows<{
    tokenSha256: Buffer
  }>`select token_sha256 from devices where id = ${first.body.deviceId}`
  expect(row?.tokenSha256).toEqual(tokenHash(first.body.deviceToken))
})

test('unknown, expired, exhausted and revoked keys get the same answer; the audit log alone says why', async () => {
  const site = await make.site()
  const exhausted = await make.enrollmentKey(site, { maxUsage: 1 })
  await enroll(exhausted.key)
  const inactive = await make.enrollmentKey()
  await t.db.tx((tx) => tx.run`update organizations set status = 'suspended' where id = ${inactive.orgId}`)
  const keys = {
    unknown: { key: 'svce_nobody-knows-it', partnerId: null, orgId: null, id: null },
    expired: await make.enrollmentKey(site, { expiresAt: new Date(Date.now() - 1_000) }),
    exhausted,
    revoked: await make.enrollmentKey(site, { revoked: true }),
    'organization inactive': inactive,
  }
  const bodies = []
  for (const [reason, key] of Object.entries(keys)) {
    const hostname = `refused-${reason.replace(' ', '-')}`
    const answer = await enroll(key.key, { hostname })
    expect([reason, answer.status]).toEqual([reason, 401])
    bodies.push(answer.body)
    expect(await audits(hostname)).toEqual([
      {
        result: 'denied',
        actorType: 'anonymous',
        actorId: null,
        partnerId: key.partnerId,
        orgId: key.orgId,
        resourceType: 'enrollment_key',
        resourceId: key.id,
        details: { reason, hostname },
      },
    ])
  }
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
  expect(bodies[0].error.code).toBe('ENROLLMENT_KEY_INVALID')
  expect(await deviceCount(inactive.orgId)).toBe(0)
})

test('of fifty enrollments at the same moment a key of ten lets exactly ten in', async () => {
  const key = await make.enrollmentKey(undefined, { maxUsage: 10 })
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => enroll(key.key, { hostname: `h-${i}` }, '10.2.0.1')),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(10)
  expect(statuses.filter((status) => status === 401)).toHaveLength(40)
  expect([await usage(key.id), await deviceCount(key.orgId)]).toEqual([10, 10])
})

test('a key revoked while an enrollment is under way lets no later one in', async () => {
  const key = await make.enrollmentKey(undefined, { maxUsage: null })
  expect((await enroll(key.key)).status).toBe(201)
  await t.db.tx((tx) => tx.run`update enrollment_keys set revoked_at = now() where id = ${key.id}`)
  expect((await enroll(key.key)).status).toBe(401)
})

test('at the device limit the answer is 403 and the key is not used up; a decommissioned device makes room', async () => {
  const site = await make.site()
  const keys = await Promise.all(Array.from({ length: 8 }, () => make.enrollmentKey(site))) // enrollments of one key wait for each other
  await t.db.tx((tx) => tx.run`update organizations set max_devices = 3 where id = ${site.orgId}`)
  const answers = await Promise.all(keys.map(({ key }) => enroll(key, { hostname: 'crowd' })))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
  const refused = answers.filter(({ status }) => status === 403)
  expect(refused).toHaveLength(5)
  expect(refused[0]?.body.error).toMatchObject({
    code: 'DEVICE_LIMIT_REACHED',
    details: [{ currentDevices: 3, maxDevices: 3 }],
  })
  const used = await Promise.all(keys.map(({ id }) => usage(id)))
  expect(used.reduce<number>((sum, uses) => sum + (uses ?? 0), 0)).toBe(3)
  expect(await deviceCount(site.orgId)).toBe(3)
  expect((await audits('crowd')).filter(({ result }) => result === 'denied')).toHaveLength(5)
  await t.db.tx(
    (tx) => tx.run`
    update devices set lifecycle = 'decommissioned' where id = (select id from devices where org_id = ${site.orgId} limit 1)`,
  )
  expect((await enroll(keys[0]?.key ?? '')).status).toBe(201)
})

test.each([
  ['no hostname', { hostname: undefined }],
  ['a blank hostname', { hostname: '  ' }],
  ['a hostname with NUL', { hostname: 'a\0b' }],
  ['an operating system that is none', { osType: 'amiga' }],
  ['a public key of the wrong length', { publicKey: Buffer.alloc(31).toString('base64') }],
  ['a public key that is not base64', { publicKey: '!' }],
  ['a field that nobody knows', { orgId: '00000000-0000-7000-8000-000000000000' }],
  ['negative memory', { hardware: { ramTotalBytes: -1 } }],
])('%s is 400 and uses up nothing', async (_, more) => {
  const key = await make.enrollmentKey()
  const answer = await enroll(key.key, more)
  expect([answer.status, answer.body.error.code]).toEqual([400, 'VALIDATION_ERROR'])
  expect(await usage(key.id)).toBe(0)
})

test('a device whose answer was lost enrolls again as itself, at the cost of one use, while its key is good', async () => {
  const key = await make.enrollmentKey(undefined, { maxUsage: 1 })
  const ofKey = (fill: number) => ({ publicKey: Buffer.alloc(32, fill).toString('base64') })
  const first = await enroll(key.key, ofKey(1))
  const again = await Promise.all(Array.from({ length: 4 }, () => enroll(key.key, ofKey(1))))
  const answers = [first, ...again].map(({ status, body }) => [status, body.deviceId])
  expect(answers).toEqual(Array(5).fill([201, first.body.deviceId]))
  expect([await usage(key.id), await deviceCount(key.orgId)]).toEqual([1, 1])
  expect((await enroll(key.key, ofKey(2))).status).toBe(401)
  expect((await enroll(key.key, {})).status).toBe(401)
  const other = await make.enrollmentKey(key)
  expect((await enroll(other.key, ofKey(1))).body.deviceId).toBe(first.body.deviceId)
  expect(await usage(other.id)).toBe(1)
  await t.db.tx((tx) => tx.run`update enrollment_keys set revoked_at = now() where id = ${key.id}`)
  expect((await enroll(key.key, ofKey(1))).status).toBe(401)
  await t.db.tx(
    (tx) => tx.run`update device_presence set last_seen_at = now() where device_id = ${first.body.deviceId}`,
  )
  expect((await enroll(other.key, ofKey(1))).status).toBe(409)
})

test('wrong keys from one address are limited; good ones never are', async () => {
  const key = await make.enrollmentKey(undefined, { maxUsage: null })
  for (let i = 0; i < 20; i++) expect((await enroll(key.key, {}, '10.3.0.1')).status).toBe(201)
  const statuses = []
  for (let i = 0; i < 310; i++) statuses.push((await enroll('svce_wrong', {}, '10.3.0.2')).status)
  expect(statuses.slice(0, 300)).toEqual(Array(300).fill(401))
  const last = await enroll('svce_wrong', {}, '10.3.0.2')
  expect([last.status, last.body.retryAfter]).toEqual([429, expect.any(Number)])
})

test('an operator’s token on the request changes nothing of whose the device is', async () => {
  const key = await make.enrollmentKey()
  const stranger = await t.people.partnerAdmin(await make.partner())
  const answer = await t.request('POST /agents/enroll', stranger, {
    body: { enrollmentKey: key.key, ...facts },
  })
  expect([answer.status, answer.body.orgId]).toEqual([201, key.orgId])
})

test('the API’s role can neither read a key’s hash nor a device’s, nor count a key by itself', async () => {
  const pool = t.core.pools.app
  await expect(pool`select key_hash from enrollment_keys`).rejects.toThrow('permission denied')
  await expect(pool`select token_sha256 from devices`).rejects.toThrow('permission denied')
  const key = await make.enrollmentKey()
  expect((await pool`update enrollment_keys set usage_count = 0`).count).toBe(0)
  await expect(t.core.pools.worker`select * from use_enrollment_key(${tokenHash(key.key)})`).rejects.toThrow(
    'permission denied',
  )
})
