import { expect, test } from 'vitest'
import { limits as defaults } from '../ops/limits.ts'
import { Knocks } from './knocks.ts'

const limits = { ...defaults, knocksPerAddress: 3, knocksPerAddressPerSecond: 2, maxKnockingAddresses: 4 }
const office = '203.0.113.7'

const at = () => {
  const clock = { ms: 0 }
  return { clock, knocks: new Knocks(limits, () => clock.ms) }
}
const takes = (knocks: Knocks, address: string, many: number) =>
  Array.from({ length: many }, () => knocks.take(address)).filter(Boolean).length

test('an address has so many at once, and a few more as time goes on', () => {
  const { clock, knocks } = at()
  expect(takes(knocks, office, 5)).toBe(3)
  clock.ms = 1_000
  expect(takes(knocks, office, 5)).toBe(2)
  clock.ms = 60_000
  expect(takes(knocks, office, 5)).toBe(3)
})

test('others pay nothing for it', () => {
  const { knocks } = at()
  takes(knocks, office, 5)
  expect(knocks.take('203.0.113.8')).toBe(true)
})

test('any number of devices come from one address, as each gives back what it took', () => {
  const { knocks } = at()
  for (let n = 0; n < 1_000; n++) {
    expect(knocks.take(office)).toBe(true)
    knocks.giveBack(office)
  }
  expect(knocks.size).toBe(0)
})

test('who ends because of us gives back, who ends because of itself does not', () => {
  const { knocks } = at()
  for (const reason of ['ADMISSION_RATE', 'UNAVAILABLE', 'DRAINING'] as const) {
    knocks.take(office)
    knocks.ended(office, reason)
  }
  expect(knocks.size).toBe(0)
  for (const reason of ['CREDENTIAL_INVALID', 'ADMISSION_TIMEOUT', 'PEER_CLOSED'] as const) {
    expect(knocks.take(office)).toBe(true)
    knocks.ended(office, reason)
  }
  expect(knocks.take(office)).toBe(false)
})

test('of IPv6 a network is one address, however it is written', () => {
  const { knocks } = at()
  expect(takes(knocks, '2001:db8:1:2:3:4:5:6', 2) + takes(knocks, '2001:db8:1:2::7', 2)).toBe(3)
  expect(knocks.take('2001:0db8:0001:0002:ffff::')).toBe(false)
  expect(knocks.take('2001:db8:1:3::7')).toBe(true)
  expect(takes(knocks, '2001:db8::1', 2) + takes(knocks, '2001:db8:0:0:1::', 2)).toBe(3)
})

test('the machine itself is not counted', () => {
  const { knocks } = at()
  for (const own of ['127.0.0.1', '::1', '0:0:0:0:0:0:0:1', '']) expect(takes(knocks, own, 9)).toBe(9)
  expect(knocks.size).toBe(0)
})

test('more addresses than are kept: the first is forgotten', () => {
  const { knocks } = at()
  takes(knocks, office, 5)
  for (let n = 0; n < 4; n++) knocks.take(`198.51.100.${n}`)
  expect(knocks.size).toBe(4)
  expect(knocks.take(office)).toBe(true)
})
