import { maxOutputBytes, svc } from '@svc/proto'
import { expect, test } from 'vitest'
import { readResult } from './outcome.ts'

const { SUCCEEDED, FAILED } = svc.v1.Outcome

test('output stays the bytes it was, NUL and lone 0xFF included', () => {
  const data = Uint8Array.of(0, 255, 0x80, 65)
  const { stdout } = readResult('run_script', { outcome: SUCCEEDED, stdout: { data, encoding: 'cp866' } })
  expect(stdout).toEqual({ data, encoding: 'cp866', size: 4, truncated: false })
})

test('output beyond 1 MiB is cut, and says how much there was', () => {
  const data = new Uint8Array(maxOutputBytes + 10)
  const { stdout } = readResult('run_script', { outcome: FAILED, stdout: { data } })
  expect(stdout?.data.length).toBe(maxOutputBytes)
  expect(stdout).toMatchObject({ size: maxOutputBytes + 10, truncated: true })
})

test('what the device cut says so, and absurd sizes stay numbers', () => {
  const said = (output: svc.v1.IOutput) =>
    readResult('run_script', { outcome: SUCCEEDED, stderr: output }).stderr
  expect(said({ data: Uint8Array.of(1), originalSize: 5 })).toMatchObject({ size: 5, truncated: true })
  expect(said({ data: Uint8Array.of(1), truncated: true })).toMatchObject({ size: 1, truncated: true })
  expect(said({ originalSize: 2 ** 64 })?.size).toBe(Number.MAX_SAFE_INTEGER)
})

test('a structured result is kept as its type describes it, and nothing else of it', () => {
  const result = Buffer.from(JSON.stringify({ collected: ['hardware'], surplus: 1 }))
  const read = readResult('refresh_inventory', { outcome: SUCCEEDED, result })
  expect(read).toMatchObject({ result: '{"collected":["hardware"]}', error: null })
})

test('text that Postgres cannot hold is visibly replaced inside a result', () => {
  const result = Buffer.from(JSON.stringify({ collected: ['a\0b', '\u{d800}'] }))
  const read = readResult('refresh_inventory', { outcome: SUCCEEDED, result })
  expect(JSON.parse(read.result ?? '')).toEqual({ collected: ['a\u{fffd}b', '\u{fffd}'] })
})

test.each([
  ['of another shape', Buffer.from('{"collected":1}')],
  ['that is no JSON', Buffer.from('{"coll')],
  ['that is missing', new Uint8Array()],
])('a result %s keeps the outcome and says what is wrong', (_, result) => {
  const read = readResult('refresh_inventory', { outcome: SUCCEEDED, result })
  expect(read).toMatchObject({ outcome: 'succeeded', result: null })
  expect(read.error).toContain('result')
})

test('a failure needs no result', () => {
  expect(readResult('refresh_inventory', { outcome: FAILED, error: 'no' })).toMatchObject({
    outcome: 'failed',
    error: 'no',
  })
})

test('an outcome of a later version counts as failed, an unknown type keeps no result', () => {
  expect(readResult('run_script', { outcome: 99 as svc.v1.Outcome })).toMatchObject({
    outcome: 'failed',
    error: 'unknown outcome 99',
  })
  expect(readResult('constructor', { outcome: SUCCEEDED, result: Buffer.from('1') }).result).toBeNull()
})

test('how long it ran is believed only where it can be', () => {
  const ran = (startedAtMs: number, finishedAtMs: number) =>
    readResult('run_script', { startedAtMs, finishedAtMs }).ranMs
  expect(ran(1000, 3500)).toBe(2500)
  expect(ran(3500, 1000)).toBeNull()
  expect(ran(0, 1000)).toBeNull()
  expect(ran(1, 2 ** 60)).toBeNull()
})
