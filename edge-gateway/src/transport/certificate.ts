import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CertificateUnusable, type TlsFiles } from './link.ts'

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** When the first certificate of the chain in that file expires; an agent refuses the chain from then on. Throws {@link CertificateUnusable}. */
export function expiryOf({ certFile, keyFile }: TlsFiles): Date {
  try {
    const chain = readFileSync(certFile, 'utf8').match(pem) ?? []
    const ends = chain.map((one) => Date.parse(new X509Certificate(one).validTo))
    const first = Math.min(...ends)
    if (!Number.isFinite(first)) throw new Error('no certificate')
    return new Date(first)
  } catch (cause) {
    throw new CertificateUnusable(certFile, keyFile, cause)
  }
}
