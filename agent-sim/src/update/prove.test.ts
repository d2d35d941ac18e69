import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { offerOf, publicKeyOf, resigned } from '../../test/update/offers.ts'
import { type Offer, prove, type Standing } from './prove.ts'
import { trustedKeys } from './trusted-keys.ts'

const bytes = Buffer.from('agent')
const offer = offerOf({ version: '2.0.0', bytes, sequence: 5 })
const manifest = JSON.parse(Buffer.from(offer.manifest ?? []).toString()) as Record<string, unknown> & {
  assets: Record<string, unknown>[]
}
const standing: Standing = {
  os: 'linux',
  arch: 'amd64',
  version: '1.0.0',
  trusted: trustedKeys([publicKeyOf()]),
  sequence: 5,
  now: Date.now(),
}
const stranger = generateKeyPairSync('ed25519').privateKey

const flipped = (given: Uint8Array | null | undefined) => {
  const copy = Buffer.from(given ?? [])
  copy[copy.length >> 1] = (copy[copy.length >> 1] ?? 0) ^ 1
  return copy
}
const without = (kind: string) => manifest.assets.filter((asset) => asset['kind'] !== kind)

it('believes what a trusted key signed for this device, and only that', () => {
  const lying: Offer = { ...offer, version: '9.9.9', size: 1, sha256: Buffer.alloc(32), sequence: 99 }
  expect(prove(lying, standing)).toMatchObject({
    manifest: { version: '2.0.0', sequence: 5 },
    asset: { kind: 'agent', os: 'linux', arch: 'amd64', size: bytes.length },
  })
})

it.each<[string, string, Offer, Partial<Standing>]>([
  ['a key that is not trusted', 'unknown_key', offerOf({ version: '2.0.0', bytes, key: stranger }), {}],
  ['no trusted key at all', 'unknown_key', offer, { trusted: trustedKeys([]) }],
  [
    'a stranger’s signature under a trusted name',
    'bad_signature',
    { ...offerOf({ version: '2.0.0', bytes, key: stranger }), keyId: offer.keyId ?? '' },
    {},
  ],
  ['a bit of the manifest', 'bad_signature', { ...offer, manifest: flipped(offer.manifest) }, {}],
  ['a bit of the signature', 'bad_signature', { ...offer, signature: flipped(offer.signature) }, {}],
  ['no signature', 'bad_signature', { ...offer, signature: new Uint8Array() }, {}],
  ['a manifest without end', 'manifest_too_large', { ...offer, manifest: Buffer.alloc(300_000) }, {}],
  ['another format', 'bad_manifest', resigned(offer, { ...manifest, format: 'other' }), {}],
  [
    'a file above what any agent downloads',
    'bad_manifest',
    resigned(offer, { ...manifest, assets: manifest.assets.map((one) => ({ ...one, size: 2 ** 30 })) }),
    {},
  ],
  ['a moment too late', 'expired', offer, { now: Date.parse(String(manifest['expiresAt'])) }],
  ['a replay of an older release', 'older_sequence', offer, { sequence: 6 }],
  ['another architecture', 'wrong_target', offer, { arch: 'mips' }],
  ['another system', 'wrong_target', offer, { os: 'plan9' }],
  [
    'a helper’s manifest for the agent',
    'wrong_target',
    resigned(offer, { ...manifest, assets: without('agent') }),
    {},
  ],
  ['a component that is none', 'wrong_target', { ...offer, component: 'watchdog' }, {}],
  ['the same version', 'not_newer', offer, { version: '2.0.0' }],
  ['an older version', 'not_newer', offer, { version: '2.0.1' }],
  [
    'its own candidate',
    'not_newer',
    offerOf({ version: '2.0.0-rc.1', bytes, sequence: 5 }),
    { version: '2.0.0' },
  ],
])('refuses what differs in one thing: %s', (_, reason, given, changed) => {
  expect(prove(given, { ...standing, ...changed })).toBe(reason)
})
