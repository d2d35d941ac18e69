import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export interface Asset {
  plain: Buffer
  gzip: Buffer
  /** differs when the contents do */
  tag: string
}

/** Beside a bundle it goes by this name. */
export const bundledScript = 'reference.js'

/** The package's one script for browsers. The package itself stays unloaded: it would read the document anew, and slow the start. */
export function scriptPath(here = import.meta.dirname): string {
  const bundled = join(here, bundledScript)
  if (existsSync(bundled)) return bundled
  const entry = createRequire(import.meta.url).resolve('@scalar/fastify-api-reference')
  return join(dirname(entry), 'js/standalone.js')
}

async function load(path: string): Promise<Asset> {
  const plain = await readFile(path)
  const tag = createHash('sha256').update(plain).digest('base64url').slice(0, 16)
  return { plain, gzip: await promisify(gzip)(plain), tag }
}

/** Read and packed when it is first asked for, then kept; whoever asks meanwhile waits for the same. */
export function referenceScript(path = scriptPath): () => Promise<Asset> {
  let loading: Promise<Asset> | undefined
  return () => {
    loading ??= load(path()).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}
