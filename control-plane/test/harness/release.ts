import { generateKeyPairSync } from 'node:crypto'
import { buildRelease, type Release, type ReleaseInput } from '../../../tools/release/build.ts'
import { releaseKeyId as idOf } from '@svc/proto'
import { rawPublicKey } from '../../../tools/release/keys.ts'

/** The key that signs releases in this process's tests. */
export const releaseKey = generateKeyPairSync('ed25519').privateKey
/** as RELEASE_KEYS names it */
export const releasePublicKey = rawPublicKey(releaseKey).toString('base64')
export const releaseKeyId = idOf(rawPublicKey(releaseKey))

const dayMs = 86_400_000

/** A signed release of a few bytes for every target; agent alone unless `files` says otherwise. */
export function makeRelease(version: string, sequence: number, more: Partial<ReleaseInput> = {}): Release {
  const now = Date.now()
  return buildRelease({
    version,
    sequence,
    key: releaseKey,
    releasedAt: new Date(now),
    expiresAt: new Date(now + 30 * dayMs),
    files: { agent: Buffer.from(`#!/bin/sh\necho ${version}\n`) },
    ...more,
  })
}
