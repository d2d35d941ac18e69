import { expect, test } from 'vitest'
import { asDomain, asDomains } from './domains.ts'

test.each([
  ['Staff.Example', 'staff.example'],
  [' staff.example ', 'staff.example'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['BÜCHER.example', 'xn--bcher-kva.example'],
  ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  ['straße.example', 'xn--strae-oqa.example'],
  // A Cyrillic letter that looks like a Latin one makes another domain.
  ['st\u{430}ff.example', 'xn--stff-63d.example'],
])('%j is %s', (text, domain) => {
  expect(asDomain(text)).toBe(domain)
})

test.each([
  '',
  'example',
  'staff.example.',
  '.example',
  'a..example',
  '-a.example',
  'staff_x.example',
  'staff.example+x',
  'staff.example/x',
  'staff.example:1',
  'user@staff.example',
  '%73taff.example',
  // Full-width letters, and a full stop that a browser takes for one: as they are written they are no domain.
  'ｓtaff.example',
  'staff。example',
  // Left out by a browser.
  'staff\u{fe0f}.example',
  'sta\u{34f}ff.example',
  `${'a'.repeat(64)}.example`,
])('%j is no domain', (text) => {
  expect(asDomain(text)).toBeUndefined()
})

test('a list has each once; one that is none spoils it', () => {
  expect(asDomains('a.example, A.example,b.example,')).toEqual(['a.example', 'b.example'])
  expect(asDomains('')).toEqual([])
  expect(asDomains('a.example, b')).toBeUndefined()
})
