import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expiryOf } from './certificate.ts'
import { CertificateUnusable } from './link.ts'

const folder = join(import.meta.dirname, '../../test/tls')
const of = (name: string) => expiryOf({ certFile: join(folder, name), keyFile: join(folder, 'key.pem') })

test('a chain lasts as long as the first of it to expire', () => {
  expect(of('cert.pem')).toEqual(new Date('2126-11-04T00:29:18Z'))
  expect(of('chain.pem')).toEqual(new Date('2036-11-26T10:00:45Z'))
})

test('what holds no certificate is refused', () => {
  expect(() => of('key.pem')).toThrow(CertificateUnusable)
  expect(() => of('nothing.pem')).toThrow(CertificateUnusable)
})
