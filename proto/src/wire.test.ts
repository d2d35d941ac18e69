import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  closeCode,
  closeReasonOf,
  closeReasons,
  commandTypes,
  decodeEnvelope,
  deviceIdOf,
  encodeBody,
  lanes,
  makeDeviceToken,
  signCommand,
  svc,
  takenBy,
  timeoutOf,
  upKinds,
  verifyCommand,
  withSeq,
} from './index.ts'
import { shardCount, shardOf } from './bus/names.ts'

describe('frames', () => {
  test('a seq written in front of an encoded body decodes as one envelope', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(300), fc.maxSafeNat()), fc.uint8Array({ maxLength: 200 }), (seq, data) => {
        const frame = withSeq(seq, encodeBody({ commandResult: { commandId: 'c', stdout: { data } } }))
        const envelope = decodeEnvelope(frame)
        expect(envelope.seq).toBe(seq)
        expect(envelope.body).toBe('commandResult')
        expect([...(envelope.commandResult?.stdout?.data ?? [])]).toEqual([...data])
      }),
    )
  })

  test('an enum value of a later version decodes and does not throw', () => {
    const frame = svc.v1.Envelope.encode({ goodbye: { reason: 900 as svc.v1.CloseReason } }).finish()
    expect(decodeEnvelope(frame).goodbye?.reason).toBe(900)
  })

  test('what agents may send is what stands below 32 in the envelope; who does not say takes the first of them', () => {
    const proto = readFileSync(new URL('../svc/v1/envelope.proto', import.meta.url), 'utf8')
    const fields = [...proto.matchAll(/^    \w+ (\w+) = (\d+);/gm)].map(([, name = '', number]) => {
      return [name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()), Number(number)] as const
    })
    expect(upKinds).toEqual(Object.fromEntries(fields.filter(([, number]) => number < 32)))
    expect([...takenBy([])]).toEqual([2, 3, 4, 5, 6, 7, 12])
    expect([...takenBy([2, 99])]).toEqual([2, 99])
  })

  test('an unknown body is no body, and cut bytes throw', () => {
    const later = Uint8Array.from([0x08, 0x01, 0xfa, 0x07, 0x01, 0x00]) // field 127, length-delimited
    expect(decodeEnvelope(later).body).toBeUndefined()
    expect(() => decodeEnvelope(Uint8Array.from([0x12, 0x7f, 0x00]))).toThrow()
  })
})

describe('command signatures', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  test('a signature holds for its own bytes and no others', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), fc.nat(), (body, at) => {
        const signature = signCommand(body, privateKey)
        expect(verifyCommand(body, signature, publicKey)).toBe(true)
        const other = Uint8Array.from(body)
        other[at % other.length]! ^= 1
        expect(verifyCommand(other, signature, publicKey)).toBe(false)
      }),
    )
  })

  test('a signature without the context, or of another length, is refused', async () => {
    const { sign } = await import('node:crypto')
    const body = Buffer.from('body')
    expect(verifyCommand(body, sign(null, body, privateKey), publicKey)).toBe(false)
    expect(verifyCommand(body, new Uint8Array(0), publicKey)).toBe(false)
  })
})

describe('device tokens', () => {
  test('a token names its device; any changed character makes it no token', () => {
    const id = '0192f0c1-2d3e-7a4b-8c5d-6e7f8091a2b3'
    const token = makeDeviceToken(id)
    expect(deviceIdOf(token)).toBe(id)
    for (let i = 0; i < token.length; i++) {
      const wrong = token.slice(0, i) + (token[i] === 'x' ? 'y' : 'x') + token.slice(i + 1)
      expect(deviceIdOf(wrong), `changed at ${i}`).toBeUndefined()
    }
    expect(deviceIdOf('')).toBeUndefined()
    expect(deviceIdOf(`${token}\n`)).toBeUndefined()
  })
})

describe('tables', () => {
  test('every close reason has a number, and its code leads back to it', () => {
    const names = Object.keys(svc.v1.CloseReason).filter((key) => Number.isNaN(Number(key)))
    expect(Object.keys(closeReasons).sort()).toEqual(names.sort())
    for (const name of Object.keys(closeReasons) as (keyof typeof closeReasons)[]) {
      if (name !== 'CLOSE_REASON_UNSPECIFIED') expect(closeReasonOf(closeCode(name))).toBe(name)
    }
    expect(closeReasonOf(1006)).toBe('PEER_CLOSED')
  })

  test('every command type refuses unknown argument keys and names a lane', () => {
    for (const [name, type] of Object.entries(commandTypes)) {
      expect(type.args.safeParse({ surprise: 1 }).success, name).toBe(false)
      expect(lanes[type.lane]).toBeGreaterThan(0)
    }
  })

  test('a script says its own time limit; the others have their class', () => {
    expect(timeoutOf('run_script', { timeoutSeconds: 7 })).toBe(7000)
    expect(timeoutOf('list_processes', {})).toBe(30_000)
  })

  test('devices spread over all shards', () => {
    const seen = new Set(
      Array.from('0123456789abcdef', (digit) => shardOf(`0192f0c1-2d3e-7a4b-8c5d-6e7f8091a2b${digit}`)),
    )
    expect(seen.size).toBe(shardCount)
  })
})
