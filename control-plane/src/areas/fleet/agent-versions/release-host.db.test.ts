import { generateKeyPairSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import { makeRelease, releaseKey, releaseKeyId } from '../../../../test/harness/release.ts'
import { ReleaseHost, repository } from '../../../../test/harness/release-host.ts'
import { signed } from '../../../../../tools/release/build.ts'
import { manifestName, signatureName } from '../../../../../tools/release/write.ts'

const host = await ReleaseHost.start()
const t = await testApp({
  env: {
    BINARY_SOURCE: 'github',
    RELEASE_HOST_URL: host.url,
    RELEASE_REPO: repository,
    RELEASE_TOKEN: 'release-token',
    RELEASE_ASSET_HOSTS: host.storage,
  },
})
const admin = await t.people.platformAdmin()
const reader = await t.people.partnerAdmin(await t.make.partner())

const sync = (version?: string) =>
  t.request('POST /agent-versions/sync-github', admin, version === undefined ? {} : { query: { version } })
const latest = (platform = 'linux', arch = 'amd64') =>
  t.request('GET /agent-versions/latest', reader, { query: { platform, arch } })
const registered = async () =>
  (await t.request('GET /agent-versions', reader)).body.data.map(
    ({ version }: { version: string }) => version,
  )

/** No two tests share a version: each takes the next, and the sequence after it. */
let count = 0
const next = () => {
  count += 1
  return { version: `1.${count}.0`, sequence: count * 10 }
}
const release = (more: Parameters<typeof makeRelease>[2] = {}) => {
  const { version, sequence } = next()
  return makeRelease(version, sequence, more)
}

const targets = ['linux', 'macos', 'windows'].flatMap((os) => [`agent:${os}/amd64`, `agent:${os}/arm64`])

let before: string[]
beforeEach(async () => {
  before = await registered()
})
afterEach(() => {
  host.answer = undefined
  host.redirectTo = `http://${host.storage}`
})

test('the newest release is registered, told by its targets, and found by whoever asks for the latest', async () => {
  const made = release({ notes: 'Better.' })
  host.publish(made)
  const answer = await sync()
  expect([answer.status, answer.body]).toEqual([200, { version: made.manifest.version, synced: targets }])
  const asset = made.manifest.assets.find(({ os, arch }) => os === 'linux' && arch === 'arm64')
  const { body } = await latest('linux', 'aarch64')
  expect(body).toEqual({
    version: made.manifest.version,
    sequence: made.manifest.sequence,
    releasedAt: made.manifest.releasedAt,
    expiresAt: made.manifest.expiresAt,
    releaseNotes: 'Better.',
    component: 'agent',
    platform: 'linux',
    arch: 'arm64',
    name: asset?.name,
    fileSize: asset?.size,
    checksum: asset?.sha256,
    downloadUrl: `${host.url}/${repository}/releases/download/v${made.manifest.version}/${asset?.name}`,
    manifest: Buffer.from(made.manifestBytes).toString(),
    manifestSignature: made.signature.signature,
    signingKeyId: releaseKeyId,
  })
  const download = await t.request('GET /agents/download/linux/arm64', null)
  expect([download.status, download.headers['location']]).toEqual([302, body.downloadUrl])
})

test('the token goes to the API alone, not to where that redirects', async () => {
  host.publish(release())
  host.asked.length = 0
  expect((await sync()).status).toBe(200)
  const credentials = (at: string) =>
    new Set(host.asked.filter((one) => one.at === at).map(({ authorization }) => authorization))
  expect(credentials('api')).toEqual(new Set(['Bearer release-token']))
  expect(credentials('storage')).toEqual(new Set([undefined]))
})

test('registering the same release again changes nothing', async () => {
  const made = release()
  host.publish(made)
  const { version } = made.manifest
  const answers = [await sync(), await sync(`v${version}`), await sync(version)]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await registered()).toEqual([version, ...before])
})

test('of two registrations at the same moment both answer, and one release is there', async () => {
  const made = release()
  host.publish(made)
  const answers = await Promise.all([sync(), sync()])
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(await registered()).toEqual([made.manifest.version, ...before])
})

test('a release candidate is registered when it is asked for, and is never the latest', async () => {
  const stable = release()
  host.publish(stable)
  await sync()
  const { version, sequence } = next()
  host.publish(makeRelease(`${version}-rc.1`, sequence))
  expect((await sync()).body.version).toBe(stable.manifest.version)
  expect((await sync(`${version}-rc.1`)).status).toBe(200)
  expect((await latest()).body.version).toBe(stable.manifest.version)
  const { body } = await t.request('GET /agent-versions', reader)
  expect(body.data[0]).toMatchObject({ version: `${version}-rc.1`, isLatest: false })
  const url = `GET /agent-versions/${version}-rc.1/download` as const
  expect((await t.request(url, reader, { query: { platform: 'darwin', arch: 'arm64' } })).status).toBe(302)
})

test('a fix for an old line is registered and becomes nobody’s latest; a target it alone has gets it', async () => {
  const stable = release({ targets: [{ os: 'linux', arch: 'amd64' }] })
  host.publish(stable)
  await sync()
  const fix = makeRelease('0.9.9', stable.manifest.sequence + 1)
  host.publish(fix)
  expect((await sync('0.9.9')).status).toBe(200)
  expect((await latest()).body.version).toBe(stable.manifest.version)
})

test('a release that is not there is 404', async () => {
  expect((await sync('99.0.0')).status).toBe(404)
  host.publish(makeRelease('98.0.0', 980), { draft: true })
  expect((await sync('98.0.0')).status).toBe(404)
})

test('a release older than what is registered is 409, and its files are not even read', async () => {
  const { version, sequence } = next()
  host.publish(makeRelease(version, sequence))
  expect((await sync()).status).toBe(200)
  const replayed = makeRelease('90.0.0', sequence - 1)
  host.publish(replayed)
  host.asked.length = 0
  const answer = await sync('90.0.0')
  expect([answer.status, answer.body.error]).toMatchObject([
    409,
    { code: 'CONFLICT', details: [{ sequence: sequence - 1, newest: sequence }] },
  ])
  expect(host.asked.filter(({ at }) => at === 'storage')).toHaveLength(2)
})

test('another manifest for a version that is registered is 409', async () => {
  const { version, sequence } = next()
  host.publish(makeRelease(version, sequence))
  await sync()
  host.publish(makeRelease(version, sequence + 1))
  const answer = await sync()
  expect([answer.status, answer.body.error.code]).toEqual([409, 'ALREADY_EXISTS'])
})

/** Sends without an end, as fast as it is read. */
const endless = (response: ServerResponse) => {
  response.writeHead(200)
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(65_536))) continue
  }
  response.on('drain', more)
  more()
}

const [stranger, thief] = [
  generateKeyPairSync('ed25519').privateKey,
  generateKeyPairSync('ed25519').privateKey,
]
const flip = (bytes: Uint8Array) => {
  const copy = Buffer.from(bytes)
  copy[copy.length >> 1] = (copy[copy.length >> 1] ?? 0) ^ 1
  return copy
}
const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const assetOf = (made: ReturnType<typeof release>) => made.assets[0] ?? { name: '', bytes: Buffer.alloc(0) }

type Made = ReturnType<typeof release>
const dayMs = 86_400_000

describe('refused, with nothing registered:', () => {
  test.each<
    [
      what: string,
      reason: string,
      replace: (made: Made) => Parameters<ReleaseHost['publish']>[1],
      more?: object,
    ]
  >([
    [
      'a manifest with one bit changed',
      'bad_signature',
      (made) => ({ replace: { [manifestName]: flip(made.manifestBytes) } }),
    ],
    [
      'a signature with one bit changed',
      'bad_signature',
      (made) => {
        const { keyId, signature } = made.signature
        return {
          replace: {
            [signatureName]: json({
              keyId,
              signature: flip(Buffer.from(signature, 'base64')).toString('base64'),
            }),
          },
        }
      },
    ],
    ['a manifest of a key that nobody trusts', 'unknown_key', () => ({}), { key: stranger }],
    [
      'a manifest of a stranger’s under the name of a trusted key',
      'bad_signature',
      (made) => ({
        replace: { [signatureName]: json({ ...signed(made.manifestBytes, thief), keyId: releaseKeyId }) },
      }),
    ],
    [
      'a manifest that has expired',
      'expired',
      () => ({}),
      { releasedAt: new Date(Date.now() - 40 * dayMs), expiresAt: new Date(Date.now() - 10 * dayMs) },
    ],
    ['a manifest under another version’s tag', 'wrong_version', () => ({ tag: 'v77.0.0' })],
    [
      'a signed manifest that is none',
      'bad_manifest',
      () => ({
        replace: {
          [manifestName]: json({ format: 'other' }),
          [signatureName]: json(signed(json({ format: 'other' }), releaseKey)),
        },
      }),
    ],
    ['a manifest that does not end', 'manifest_too_large', () => ({ replace: { [manifestName]: endless } })],
    ['a file that is missing', 'asset_missing', (made) => ({ replace: { [assetOf(made).name]: undefined } })],
    [
      'a file with one bit changed',
      'wrong_hash',
      (made) => ({ replace: { [assetOf(made).name]: flip(assetOf(made).bytes) } }),
    ],
    [
      'a file that is shorter',
      'wrong_size',
      (made) => ({ replace: { [assetOf(made).name]: assetOf(made).bytes.subarray(1) } }),
    ],
    [
      'a file that is longer',
      'wrong_size',
      (made) => ({
        replace: { [assetOf(made).name]: Buffer.concat([assetOf(made).bytes, Buffer.from('!')]) },
      }),
    ],
    ['a file that does not end', 'wrong_size', (made) => ({ replace: { [assetOf(made).name]: endless } })],
  ])('%s', async (_, reason, options, more = {}) => {
    const made = release(more)
    const published = options(made)
    host.publish(made, published)
    const answer = await sync(published?.tag)
    expect([answer.status, answer.body.error.code]).toEqual([422, 'RELEASE_UNTRUSTED'])
    expect(answer.body.error.details[0].reason).toBe(reason)
    expect(await registered()).toEqual(before)
  })

  test('the file of another architecture', async () => {
    const { version, sequence } = next()
    const [amd64, arm64] = ['amd64', 'arm64'].map((arch) =>
      makeRelease(version, sequence, { files: { agent: Buffer.from(`for ${arch}`.padEnd(20)) } }),
    )
    const name = `svc-agent-${version}-linux-amd64`
    if (amd64)
      host.publish(amd64, { replace: { [name]: arm64?.assets.find((one) => one.name === name)?.bytes } })
    const answer = await sync()
    expect([answer.status, answer.body.error.details]).toEqual([
      422,
      [{ reason: 'wrong_hash', asset: 'agent:linux/amd64' }],
    ])
    expect(await registered()).toEqual(before)
  })

  test.each<[string, () => void]>([
    [
      'a host that fails',
      () => {
        host.answer = (response) => void response.writeHead(500).end()
      },
    ],
    [
      'a host that limits',
      () => {
        host.answer = (response) => void response.writeHead(403).end('{}')
      },
    ],
    [
      'a host that hangs up',
      () => {
        host.answer = (response) => void response.destroy()
      },
    ],
    [
      'an answer that is no JSON',
      () => {
        host.answer = (response) => void response.writeHead(200).end('<html>')
      },
    ],
    [
      'an answer that is no release',
      () => {
        host.answer = (response) => void response.writeHead(200).end('{"tag_name":1}')
      },
    ],
    [
      'an answer that does not end',
      () => {
        host.answer = endless
      },
    ],
    [
      'a redirect to a name that is not allowed, though it would serve',
      () => {
        host.redirectTo = `http://${host.storage.replace('127.0.0.1', 'localhost')}`
      },
    ],
    [
      'a redirect to a file',
      () => {
        host.redirectTo = 'file:///etc/passwd?'
      },
    ],
    [
      'a redirect in circles',
      () => {
        host.redirectTo = `${host.url}/repos/x/y/assets`
      },
    ],
    [
      'a signature that is no JSON',
      () => host.publish(release(), { replace: { [signatureName]: Buffer.from('c2ln') } }),
    ],
  ])('%s is 502', async (_, misbehave) => {
    host.publish(release())
    misbehave()
    const answer = await sync()
    expect([answer.status, answer.body.error.code]).toEqual([502, 'RELEASE_HOST_FAILED'])
    expect(answer.body.error.message).not.toContain('release-token')
    expect(await registered()).toEqual(before)
  })
})

test('whoever is not the platform’s administrator registers nothing', async () => {
  host.publish(release())
  host.asked.length = 0
  const answer = await t.request('POST /agent-versions/sync-github', reader)
  expect([answer.status, host.asked]).toEqual([403, []])
})

test('a registration leaves an audit row without a tenant', async () => {
  const made = release()
  host.publish(made)
  await sync()
  const [row] = await t.owner`
    select actor_id, partner_id, org_id, resource_type, resource_name, details from svc.audit_log
    where action = 'agent_version.sync' and resource_name = ${made.manifest.version}`
  expect(row).toMatchObject({
    actorId: admin.userId,
    partnerId: null,
    orgId: null,
    resourceType: 'agent_version',
    details: { sequence: made.manifest.sequence, synced: targets },
  })
})
