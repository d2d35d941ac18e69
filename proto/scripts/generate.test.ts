import { expect, test } from 'vitest'
import { svc } from '../src/gen/svc.js'

const { UpItem } = svc.v1

test('64-bit fields are numbers as their types say: sent, absent and beyond 32 bits', () => {
  const epoch = 1_764_288_000_123_456 // microseconds
  const bytes = UpItem.encode({ deviceId: 'a', epoch }).finish()
  expect(UpItem.decode(bytes).epoch).toBe(epoch)
  expect(UpItem.decode(bytes).receivedAtMs).toBe(0)
  expect(UpItem.decode(UpItem.encode({ receivedAtMs: -1 }).finish()).receivedAtMs).toBe(-1)
})
