import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, expect, test, vi } from 'vitest'
import { addresses, nameServer, of } from '../../../test/harness/egress/dns.ts'
import { outside, outsideOnly } from '../../../test/harness/egress/inside.ts'
import { type EgressOptions, makeEgress } from './egress.ts'

/** A certificate that is its own authority, made for this file, and the key to it. */
function certificate(names: string) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-egress-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const making = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ]
  const of = ['-subj', '/CN=test', '-addext', `subjectAltName=${names}`]
  execFileSync('openssl', [...making, ...of, '-keyout', key, '-out', cert], { stdio: 'pipe' })
  const read = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(folder, { recursive: true })
  return read
}

const { key, cert } = certificate(`DNS:idp.test,IP:${outside}`)
const server = createServer({ key, cert }, (request, response) => {
  const { servername } = request.socket as TLSSocket & { servername: string | false }
  response.end(JSON.stringify({ servername, host: request.headers.host }))
})
server.listen(0, outside)
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const dns = await nameServer(({ type }) => of(type, addresses(outside)))

const options: Partial<EgressOptions> = {
  ports: [[1024, 65_535]],
  allow: outsideOnly(),
  resolvers: [dns.address],
  without: new Set(['alike']),
}
const trusting = makeEgress({ ...options, ca: cert })
afterAll(async () => {
  await trusting.close()
  dns.close()
  server.close()
})

test('the connection goes to the address, the certificate and the request are for the name', async () => {
  const answer = await trusting.fetch(`https://idp.test:${port}/`)
  expect(await answer.json()).toEqual({ servername: 'idp.test', host: `idp.test:${port}` })
})

test('an address has no server name, and its certificate is checked all the same', async () => {
  const answer = await trusting.fetch(`https://${outside}:${port}/`)
  expect(await answer.json()).toEqual({ servername: false, host: `${outside}:${port}` })
})

test('a certificate of another name is not good', async () => {
  await expect(trusting.fetch(`https://other.test:${port}/`)).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  })
})

test('one of an authority that nobody knows is not good, whatever the environment says', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  const strict = makeEgress(options)
  await expect(strict.fetch(`https://idp.test:${port}/`)).rejects.toMatchObject({ code: 'UNREACHABLE' })
  vi.unstubAllEnvs()
  await strict.close()
})

test('http is not taken unless it is configured', async () => {
  await expect(trusting.fetch(`http://idp.test:${port}/`)).rejects.toMatchObject({ code: 'ADDRESS_INVALID' })
})
