import { expect, test } from 'vitest'
import { isRangeWithin, isWithin, rangeText, readRange, requireRange } from './address-ranges.ts'

test.each([
  ['192.0.2.0/24', '192.0.2.0/24'],
  ['192.0.2.7', '192.0.2.7/32'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:DB8:0::/32', '2001:db8::/32'],
  ['2001:db8::1', '2001:db8::1/128'],
  ['::ffff:192.0.2.0/120', '192.0.2.0/24'],
  ['::ffff:192.0.2.7', '192.0.2.7/32'],
  ['::/0', '::/0'],
])('%s is written %s', (text, written) => expect(rangeText(text)).toBe(written))

test.each([
  '',
  '192.0.2.0/33',
  '2001:db8::/129',
  '192.0.2.0/-1',
  '192.0.2.0/ 24',
  '192.0.2/24',
  '0300.0.2.1',
  '127.1',
  'fe80::1%eth0',
  'example.com',
  '192.0.2.0/24/8',
])('%j is no range', (text) => expect(readRange(text)).toEqual(expect.stringContaining('must be a range')))

test('an address inside the range is refused, naming what was meant', () => {
  expect(readRange('10.1.2.3/8')).toBe('must begin with the first address of the range, 10.0.0.0/8')
  expect(readRange('2001:db8::1/32')).toContain('2001:db8::/32')
  expect(readRange('::ffff:0:0/95')).toContain('give it as IPv4')
})

test.each([
  ['192.0.2.200', true],
  ['192.0.3.1', false],
  ['::ffff:192.0.2.200', true],
  ['::ffff:c000:2c8', true],
  ['::ffff:192.0.3.1', false],
  ['2001:db8::9', true],
  ['2001:db9::9', false],
  ['', false],
  ['unknown', false],
])('%s within two ranges: %s', (address, within) => {
  expect(isWithin(address, ['192.0.2.0/24', '2001:db8::/32'].map(requireRange))).toBe(within)
})

test('all of one family says nothing of the other', () => {
  expect(isWithin('192.0.2.1', [requireRange('::/0')])).toBe(false)
  expect(isWithin('2001:db8::1', [requireRange('0.0.0.0/0')])).toBe(false)
})

test.each([
  ['10.1.0.0/16', true],
  ['10.0.0.0/8', true],
  ['10.0.0.1', true],
  ['0.0.0.0/0', false],
  ['11.0.0.0/8', false],
  ['2001:db8::/32', false],
])('%s lies within 10.0.0.0/8: %s', (inner, within) => {
  expect(isRangeWithin(requireRange(inner), [requireRange('10.0.0.0/8')])).toBe(within)
})
