import { verify, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeMeshIdentities } from '../peers/meshcentral/identities.ts'
import { certificate, confirm, hashBytes, info, isPong, MeshHandshake, serverHash } from './meshcentral.ts'

const hash = Buffer.alloc(hashBytes, 'h')
const group = Buffer.alloc(hashBytes, 'g')
const [mine, theirs] = [Buffer.alloc(hashBytes, 'm'), Buffer.alloc(hashBytes, 't')]

const folder = mkdtempSync(join(tmpdir(), 'svc-mesh-'))
const identities = makeMeshIdentities(folder, 4)
rmSync(folder, { recursive: true })

/** One of them that expects that server. */
function handshake(): MeshHandshake {
  const [identity] = identities
  if (!identity) throw new Error('none was made')
  const [serverHash, into] = [hash, group].map((bytes) => bytes.toString('base64'))
  return new MeshHandshake({ ...identity, serverHash: serverHash ?? '', group: into ?? '' })
}

// What `meshagent.js` reads at these places, and the lengths below which it ignores a message.
test('an agent says what the server reads', () => {
  expect(confirm()).toEqual(Buffer.from([0, 4]))
  const first = serverHash(hash, mine)
  expect(first.length).toBe(98)
  expect([first.readUInt16BE(0), first.subarray(2, 50), first.subarray(50)]).toEqual([1, hash, mine])
  const second = certificate(Buffer.from('der'), Buffer.from('signature'))
  expect([second.readUInt16BE(0), second.readUInt16BE(2), second.toString('latin1', 4)]).toEqual([
    2,
    3,
    'dersignature',
  ])
  const third = info(group, 'höst')
  expect([third.readUInt16BE(0), third.subarray(18, 66), third.readUInt16BE(70)]).toEqual([3, group, 5])
  expect(third.toString('utf8', 72)).toBe('höst')
})

test('an agent proves with its own key that it has seen this server, and is live when it is told so', () => {
  const agent = handshake()
  const nonce = agent.begin()[1]?.subarray(50) ?? mine
  expect(agent.take(Buffer.from([0, 2, 0, 0]))).toBeUndefined()
  const [proof, about] = agent.take(serverHash(hash, theirs))?.say ?? []
  expect(about?.readUInt16BE(0)).toBe(3)
  const end = 4 + (proof?.readUInt16BE(2) ?? 0)
  const shown = new X509Certificate(proof?.subarray(4, end) ?? mine)
  const holds = (signed: Buffer[]) =>
    verify('sha384', Buffer.concat(signed), shown.publicKey, proof?.subarray(end) ?? mine)
  expect([holds([hash, theirs, nonce]), holds([hash, nonce, theirs])]).toEqual([true, false])
  // Of any other length the server would take it for PKCS #7 first.
  expect((proof?.length ?? 0) - end).toBe(256)
  expect(agent.take(Buffer.from([0, 4]))).toEqual({ live: true })
})

test('another server than the expected one is told from it', () => {
  expect(handshake().take(serverHash(theirs, mine))).toEqual({
    leave: 'the server is not the one that is expected',
  })
})

test('agents have keys of their own, each in a certificate that it has signed', () => {
  const certificates = identities.map((one) => new X509Certificate(Buffer.from(one.certificate, 'base64')))
  const keys = certificates.map(({ publicKey }) => publicKey.export({ type: 'spki', format: 'pem' }))
  expect(new Set(keys).size).toBe(4)
  expect(certificates.map((one) => one.verify(one.publicKey))).toEqual([true, true, true, true])
})

test('an answer to a heartbeat is told from other messages', () => {
  expect(['{"action":"pong"}', '{"action":"sysinfo"}'].map((text) => isPong(Buffer.from(text)))).toEqual([
    true,
    false,
  ])
})
