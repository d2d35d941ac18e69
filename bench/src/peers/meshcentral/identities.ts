import { spawnSync } from 'node:child_process'
import { type KeyObject, createPrivateKey, generatePrimeSync, sign, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'

/** An RSA key in a certificate of its own, as an agent of MeshCentral has one. */
export interface MeshIdentity {
  /** X.509, DER in base64 */
  certificate: string
  /** PKCS#8, PEM */
  key: string
}

/** What agents have: the server takes a signature of that length without trying others first. */
const modulusBits = 2_048
const exponent = 65_537n

/**
 * So many identities, each with a key of its own. Thousands of RSA keys would take minutes to find, so each is a pair out of a few
 * primes: whoever has two of them can break both, which a bench does not mind and the server does not see.
 */
export function makeMeshIdentities(folder: string, count: number): MeshIdentity[] {
  const template = makeTemplate(folder)
  return [...pairs(primesFor(count))].slice(0, count).map(([p, q]) => {
    const key = keyOf(p, q)
    return {
      certificate: certify(template, key).toString('base64'),
      key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
  })
}

function primesFor(count: number): bigint[] {
  const primes = new Set<bigint>()
  while ((primes.size * (primes.size - 1)) / 2 < count) {
    const prime = generatePrimeSync(modulusBits / 2, { bigint: true })
    if (prime % exponent !== 1n) primes.add(prime)
  }
  return [...primes]
}

function* pairs<T>(of: readonly T[]): Generator<[T, T]> {
  for (const [at, first] of of.entries()) for (const second of of.slice(at + 1)) yield [first, second]
}

/** x where a·x ≡ 1 mod m. */
function inverse(a: bigint, m: bigint): bigint {
  let [r0, r1, x0, x1] = [m, a % m, 0n, 1n]
  while (r1 !== 0n) {
    const quotient = r0 / r1
    ;[r0, r1, x0, x1] = [r1, r0 - quotient * r1, x1, x0 - quotient * x1]
  }
  return x0 < 0n ? x0 + m : x0
}

function base64url(value: bigint): string {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}

/** RFC 8017, 3.2: the private key of two primes. */
function keyOf(p: bigint, q: bigint): KeyObject {
  const d = inverse(exponent, (p - 1n) * (q - 1n))
  const parts = { n: p * q, e: exponent, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const jwk = Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, base64url(value)]))
  return createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' })
}

interface Template {
  der: Buffer
  /** its own modulus, which each agent's takes the place of */
  modulus: Buffer
}

const modulusOf = (key: KeyObject): Buffer =>
  Buffer.from(String(key.export({ format: 'jwk' })['n']), 'base64url')

function makeTemplate(folder: string): Template {
  const [certFile, keyFile] = [join(folder, 'agent.pem'), join(folder, 'agent-key.pem')]
  const { status, error, stderr } = spawnSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      `rsa:${modulusBits}`,
      '-sha384',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=agent',
    ].concat(['-keyout', keyFile, '-out', certFile]),
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`openssl: ${error?.message ?? stderr}`)
  const { raw, publicKey } = new X509Certificate(readFileSync(certFile))
  return { der: raw, modulus: modulusOf(publicKey) }
}

/** The lengths of these sequences are written in two bytes: `30 82 hh ll`. */
const sequenceHead = 4
const signatureBytes = modulusBits / 8

/** The template with another key, signed by that: of the same length in every part. */
function certify({ der, modulus }: Template, key: KeyObject): Buffer {
  const copy = Buffer.from(der)
  copy.set(modulusOf(key), der.indexOf(modulus))
  const bodyEnd = sequenceHead * 2 + copy.readUInt16BE(sequenceHead + 2)
  copy.set(sign('sha384', copy.subarray(sequenceHead, bodyEnd), key), copy.length - signatureBytes)
  return copy
}
