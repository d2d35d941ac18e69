import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { deviceKey, isCurrent, proofText, readProof, signProof, tokenHash, verifyProof } from './index.ts'

const { key, publicKey } = deviceKey(randomBytes(32))
const proven = { deviceId: randomUUID(), tokenSha256: tokenHash('svca_x'), atUs: 1_900_000_000_123_456 }
const proof = signProof(proven, key)

test('a proof holds for its device, token, time and key, and for no other', async () => {
  expect(await verifyProof(proven, proof, publicKey)).toBe(true)
  const others: [typeof proven, typeof proof, Buffer][] = [
    [{ ...proven, deviceId: randomUUID() }, proof, publicKey],
    [{ ...proven, tokenSha256: tokenHash('svca_y') }, proof, publicKey],
    [proven, { ...proof, atUs: proof.atUs + 1 }, publicKey],
    [proven, { ...proof, signature: proof.signature.slice(1) }, publicKey],
    [proven, proof, deviceKey(randomBytes(32)).publicKey],
    [proven, proof, publicKey.subarray(1)],
  ]
  for (const [what, shown, by] of others) expect(await verifyProof(what, shown, by)).toBe(false)
})

test('a proof travels in a password, and anything else there is none', async () => {
  const read = readProof(proofText(proof))
  expect(read?.atUs).toBe(proof.atUs)
  expect(await verifyProof(proven, read ?? proof, publicKey)).toBe(true)
  for (const text of ['', 'x', proofText(proof).slice(2), 'A'.repeat(200), '_'.repeat(96)])
    expect(readProof(text)).toBeUndefined()
})

test('a proof counts for five minutes, and a minute before its time', () => {
  const at = 1_900_000_000_000_000
  expect(isCurrent(at, at + 299_000_000)).toBe(true)
  expect(isCurrent(at, at + 301_000_000)).toBe(false)
  expect(isCurrent(at, at - 59_000_000)).toBe(true)
  expect(isCurrent(at, at - 61_000_000)).toBe(false)
})
