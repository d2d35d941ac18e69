import { expect, test } from 'vitest'
import { clientAddress, subscriber } from './address.ts'

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['somebody', 'somebody'],
])('%s counts as %s', (address, wanted) => {
  expect(subscriber(address)).toBe(wanted)
})

test.each([
  ['192.0.2.7', '10.0.0.1', '192.0.2.7'],
  ['fe80::1%eth0', 'fe80::1%eth0', 'fe80::1'],
  ['somebody', '10.0.0.1', '10.0.0.1'],
  ['192.0.2.7:443', 'fe80::2%eth0', 'fe80::2'],
  [undefined, '::ffff:10.0.0.1', '::ffff:10.0.0.1'],
])('a client said to be at %s, from the peer %s, is at %s', (claimed, peer, wanted) => {
  expect(clientAddress(claimed, peer)).toBe(wanted)
})
