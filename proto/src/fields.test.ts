import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import protobuf from 'protobufjs'
import { expect, test } from 'vitest'
import { encodeBody, maxFrameBytes, withSeq } from './codec.ts'
import { hasTooManyFields, maxFrameFields, messagesOfEnvelope } from './fields.ts'

const folder = join(import.meta.dirname, '../svc/v1')
const root = new protobuf.Root()
root.resolvePath = (_from, name) => join(folder, basename(name))
root.loadSync(readdirSync(folder))
root.resolveAll()

/** As the .proto has it. */
const messagesOf = (type: protobuf.Type): object =>
  Object.fromEntries(
    type.fieldsArray.flatMap(({ id, resolvedType }) =>
      resolvedType instanceof protobuf.Type ? [[id, messagesOf(resolvedType)]] : [],
    ),
  )

test('what is looked into is what the .proto says is a message', () => {
  expect(messagesOfEnvelope).toEqual(messagesOf(root.lookupType('svc.v1.Envelope')))
})

const software = (packages: number) =>
  withSeq(
    1,
    encodeBody({
      inventory: {
        hash: Buffer.alloc(32),
        software: {
          packages: Array.from({ length: packages }, (_, n) => ({
            name: `package-${n}`,
            version: '1.2.3',
            vendor: 'Debian',
            architecture: 'amd64',
            installedAtMs: 1_700_000_000_000,
            source: 'dpkg',
          })),
        },
      },
    }),
  )

test('fields are counted at each depth', () => {
  // seq, the inventory, its hash and its software, and of each package itself and six
  expect(hasTooManyFields(software(2_000), 4 + 7 * 2_000)).toBe(false)
  expect(hasTooManyFields(software(2_000), 3 + 7 * 2_000)).toBe(true)
})

test('what a large machine has installed is not too much', () => {
  expect(hasTooManyFields(software(10_000))).toBe(false)
})

/** A field that is a message, or bytes. */
const field = (number: number, inner: Buffer): Buffer => {
  const out = [number * 8 + 2]
  for (let rest = inner.length; ; rest = Math.floor(rest / 0x80)) {
    out.push((rest % 0x80) | (rest < 0x80 ? 0 : 0x80))
    if (rest < 0x80) break
  }
  return Buffer.concat([Buffer.from(out), inner])
}
const full = maxFrameBytes - 64
const many = (unit: number[]) => Buffer.alloc(full - (full % unit.length), Buffer.from(unit))

test.each([
  ['inventories', many([0x3a, 0])],
  ['disks', field(7, field(10, many([0x0a, 0])))],
  ['interfaces', field(7, field(11, many([0x0a, 0])))],
  ['addresses of an interface', field(7, field(11, field(1, many([0x1a, 0]))))],
  ['packages', field(7, field(12, many([0x0a, 0])))],
  ['metrics of a heartbeat', field(3, many([0x3a, 0]))],
  ['outputs of a command', field(6, many([0x2a, 0]))],
  ['fields that nobody knows', field(6, many([0xf8, 0x7f, 0]))],
  ['groups', many([0xf3, 0x7f])],
])('millions of %s are too many', (_, frame) => {
  expect(hasTooManyFields(frame)).toBe(true)
})

test('what a command printed is not looked into, whatever it looks like', () => {
  const output = Buffer.alloc(1024 * 1024, Buffer.from([0x0a, 0]))
  const frame = encodeBody({ commandResult: { stdout: { data: output }, stderr: { data: output } } })
  expect(frame.length).toBeGreaterThan(2 * output.length)
  expect(hasTooManyFields(frame)).toBe(false)
})

test('fewer than they may be at most are not counted, and what is malformed is for the decoder', () => {
  expect(maxFrameFields).toBeGreaterThan(64 * 1024)
  expect(hasTooManyFields(Buffer.alloc(64 * 1024, 0x0a), 1)).toBe(false)
  expect(hasTooManyFields(Buffer.alloc(full, 0xff), 1)).toBe(false)
})
