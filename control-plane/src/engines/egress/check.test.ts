import { BlockList, isIPv6 } from 'node:net'
import { expect, test } from 'vitest'
import { check } from './check.ts'
import type { Guard } from './options.ts'
import { isAmong, ownAddresses } from './inner.ts'

function listOf(...ranges: string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits = ''] = range.split('/')
    list.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4')
  }
  return list
}
const walls = {
  allow: listOf('10.1.0.0/16', 'fd00:1::/32', '127.0.0.0/8'),
  deny: listOf('10.1.9.0/24', '8.8.8.0/24', '2606:4700::/32'),
  ownNames: ['db.internal'],
  ownAddresses: () => ['9.9.9.9', '2a00:1::1', 'fe80::1%eth0'],
  without: new Set<Guard>(),
}
const verdict = (found: string[], host = 'x.test', over = walls) => {
  const kinds: string[] = []
  try {
    const { inner } = check(host, found, over, ({ kind }) => kinds.push(kind))
    return inner ? 'allowed' : 'public'
  } catch {
    return kinds.join()
  }
}

test.each([
  [['1.1.1.1'], 'public'],
  [['2a00:1450:4001::1'], 'public'],
  [['::ffff:1.1.1.1'], 'public'],
  [['10.1.2.3'], 'allowed'],
  [['::ffff:10.1.2.3'], 'allowed'],
  [['fd00:1::5'], 'allowed'],
  [['1.1.1.1', '10.1.2.3'], 'allowed'],
  [['10.2.0.1'], 'private'],
  [['1.1.1.1', '10.2.0.1'], 'private'],
  [['10.1.2.3', '10.2.0.1'], 'private'],
  [['fd00:2::1'], 'private'],
  // What is forbidden is forbidden, inside and outside.
  [['10.1.9.1'], 'denied'],
  [['::ffff:a01:901'], 'denied'],
  [['8.8.8.8'], 'denied'],
  [['::ffff:8.8.8.8'], 'denied'],
  [['2606:4700::1111'], 'denied'],
  // Allowed as IPv4 is not allowed by way of a gateway that makes IPv4 of it.
  [['64:ff9b::a01:203'], 'translated'],
  [['2002:a01:203::'], 'translated'],
  [['64:ff9b:1::a01:203'], 'translated'],
  [['::10.1.2.3'], 'translated'],
])('%j is %s', (found, is) => {
  expect(verdict(found)).toBe(is)
})

test('a name of the server is refused wherever it leads', () => {
  expect([verdict(['1.1.1.1'], 'db.internal'), verdict(['10.1.2.3'], 'DB.internal')]).toEqual(['own', 'own'])
})

test('an address of this machine is refused though it looks public', () => {
  expect(
    [['9.9.9.9'], ['::ffff:9.9.9.9'], ['2a00:1::1'], ['9.9.9.8']].map((found) => verdict(found)),
  ).toEqual(['own', 'own', 'own', 'public'])
  const own = ownAddresses()
  expect(own).toContain('127.0.0.1')
  expect(own.every((address) => isAmong(address.replace(/%.*$/, ''), own))).toBe(true)
})
