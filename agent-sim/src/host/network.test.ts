import type { NetworkInterfaceInfo } from 'node:os'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { watchNetwork } from './network.ts'

const card = (cidr: string, internal = false) => [{ cidr, internal } as NetworkInterfaceInfo]
const home = { lo: card('127.0.0.1/8', true), wlan0: card('10.0.0.2/24') }

let shown: NodeJS.Dict<NetworkInterfaceInfo[]> = home
let changes = 0
let unwatch = () => {}
beforeEach(() => {
  vi.useFakeTimers()
  shown = home
  changes = 0
  unwatch = watchNetwork(
    () => (changes += 1),
    () => shown,
  )
})
afterEach(() => {
  unwatch()
  vi.useRealTimers()
})

it('tells of an address that comes or goes, once, and of nothing else', () => {
  vi.advanceTimersByTime(60_000)
  expect(changes).toBe(0)
  shown = { lo: card('127.0.0.1/8', true) }
  vi.advanceTimersByTime(1_000)
  expect(changes).toBe(1)
  shown = { ...home, lo: card('127.0.0.5/8', true) }
  vi.advanceTimersByTime(10_000)
  expect(changes).toBe(2)
  shown = home
  vi.advanceTimersByTime(10_000)
  expect(changes).toBe(2)
})

it('tells of a machine that woke: the clock has gone on and no timer has', () => {
  vi.setSystemTime(Date.now() + 4_000)
  vi.advanceTimersByTime(1_000)
  expect(changes).toBe(0)
  vi.setSystemTime(Date.now() + 3_600_000)
  vi.advanceTimersByTime(1_000)
  expect(changes).toBe(1)
  vi.setSystemTime(Date.now() - 3_600_000)
  vi.advanceTimersByTime(5_000)
  expect(changes).toBe(1)
})
