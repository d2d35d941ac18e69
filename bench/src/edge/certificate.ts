import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** A certificate of this run and its key, on P-256, as most servers have by now. Throws where there is no openssl. */
export function makeCertificate(folder: string): { certFile: string; keyFile: string } {
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-nodes']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-keyout', keyFile]
  const { status, error, stderr } = spawnSync(
    'openssl',
    ['req', '-x509', ...key, ...subject, '-out', certFile],
    {
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(`openssl: ${error?.message ?? stderr}`)
  return { certFile, keyFile }
}
