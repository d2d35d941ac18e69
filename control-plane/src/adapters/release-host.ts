import { maxManifestBytes } from '@svc/proto'
import semver from 'semver'
import {
  type FoundRelease,
  manifestName,
  maxSignatureBytes,
  readSignature,
  type ReleaseSource,
  signatureName,
  SourceFailed,
} from './releases.ts'
import { z } from 'zod'

export interface ReleaseHostOptions {
  /** of the REST API, such as https://api.github.com */
  url: string
  /** `owner/name` */
  /** undefined: none is configured, and every question fails */
  repository: string | undefined
  token?: string | undefined
  /** hosts beside the API's own that assets may lie on, and be redirected to */
  assetHosts: readonly string[]
}

/** One answer in JSON: a release with a thousand assets is below this. */
const maxAnswerBytes = 1024 * 1024
/** From the API to the storage behind it, and once more within that. */
const maxRedirects = 3

/** What is read of a release (GitHub REST API, "Releases"). */
const Hosted = z.object({
  tag_name: z.string(),
  draft: z.boolean(),
  prerelease: z.boolean(),
  assets: z.array(z.object({ id: z.int(), name: z.string(), browser_download_url: z.url() })),
})
type Hosted = z.output<typeof Hosted>

/** Releases of one repository on a host that speaks GitHub's REST API (BINARY_SOURCE=github). */
export function hostedReleases(options: ReleaseHostOptions): ReleaseSource {
  const api = new Api(options)
  return {
    find: async (version, signal) => {
      const hosted = await api.release(version === undefined ? 'latest' : `tags/v${version}`, signal)
      return hosted && found(api, hosted, signal)
    },
    open: async ({ version, name }) => {
      throw new SourceFailed(
        `${name} of ${version} was registered from BINARY_DIR, and BINARY_SOURCE is github now`,
      )
    },
  }
}

async function found(api: Api, hosted: Hosted, signal: AbortSignal): Promise<FoundRelease | undefined> {
  const version = hosted.tag_name.replace(/^v/, '')
  if (hosted.draft || semver.valid(version) !== version) return undefined
  const assets = new Map(hosted.assets.map((asset) => [asset.name, asset]))
  const whole = async (name: string, most: number) => {
    const asset = assets.get(name)
    if (!asset) throw new SourceFailed(`release ${hosted.tag_name} has no ${name}`)
    return gather(await api.asset(asset.id, signal), most)
  }
  return {
    version,
    manifest: await whole(manifestName, maxManifestBytes),
    ...readSignature(Buffer.from(await whole(signatureName, maxSignatureBytes)).toString('utf8')),
    address: (name) => api.allowed(assets.get(name)?.browser_download_url ?? '').href,
    read: async (name, size, until) => {
      const asset = assets.get(name)
      return asset && capped(await api.asset(asset.id, until), size)
    },
  }
}

/** No more than `most` + 1 bytes, however many there are. */
async function* capped(body: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let left = most + 1
  try {
    for await (const chunk of body) {
      yield chunk.subarray(0, left)
      left -= chunk.length
      if (left <= 0) return
    }
  } catch (error) {
    throw new SourceFailed(`the release host broke off: ${(error as Error).message}`, { cause: error })
  }
}

async function gather(body: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of capped(body, most)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Requests to the host, and to nowhere that its configuration does not name. */
class Api {
  readonly #options: ReleaseHostOptions
  readonly #own: URL

  constructor(options: ReleaseHostOptions) {
    this.#options = options
    this.#own = new URL(options.url)
  }

  /** @param path below `/releases/` */
  async release(path: string, signal: AbortSignal): Promise<Hosted | undefined> {
    const response = await this.#get(this.#urlOf(path), 'application/vnd.github+json', signal)
    if (response.status === 404) return undefined
    const bytes = await gather(bodyOf(response), maxAnswerBytes)
    const hosted = Hosted.safeParse(jsonOf(bytes))
    if (!hosted.success) throw new SourceFailed('the release host answers what is no release')
    return hosted.data
  }

  async asset(id: number, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return bodyOf(await this.#get(this.#urlOf(`assets/${id}`), 'application/octet-stream', signal))
  }

  /** @throws SourceFailed for an address that is neither the host's own nor configured */
  allowed(address: string): URL {
    const url = URL.canParse(address) ? new URL(address) : undefined
    const known = url && (url.host === this.#own.host || this.#options.assetHosts.includes(url.host))
    const safe = url?.protocol === 'https:' || url?.protocol === this.#own.protocol
    if (!url || !known || !safe)
      throw new SourceFailed(`the release host points elsewhere: ${address.slice(0, 200)}`)
    return url
  }

  #urlOf(path: string): URL {
    if (!this.#options.repository) throw new SourceFailed('RELEASE_REPO is not set')
    return new URL(
      `${this.#options.url.replace(/\/+$/, '')}/repos/${this.#options.repository}/releases/${path}`,
    )
  }

  /** Follows redirects by hand: the token is for the API alone. */
  async #get(url: URL, accept: string, signal: AbortSignal, redirects = 0): Promise<Response> {
    const { token } = this.#options
    const own = url.origin === this.#own.origin
    const headers = {
      accept,
      'user-agent': 'svc',
      'x-github-api-version': '2022-11-28',
      ...(own && token && { authorization: `Bearer ${token}` }),
    }
    const response = await fetch(url, { headers, redirect: 'manual', signal }).catch((error: unknown) => {
      throw new SourceFailed(`${url.host} cannot be asked: ${reasonOf(error)}`, { cause: error })
    })
    const next = response.headers.get('location')
    if (response.status >= 300 && response.status < 400 && next) {
      await response.body?.cancel()
      if (redirects === maxRedirects) throw new SourceFailed(`${url.host} redirects in circles`)
      return this.#get(this.allowed(new URL(next, url).href), accept, signal, redirects + 1)
    }
    if (response.ok || (response.status === 404 && accept.includes('json'))) return response
    await response.body?.cancel()
    throw new SourceFailed(`${url.host} answers ${response.status}`)
  }
}

function bodyOf(response: Response): AsyncIterable<Uint8Array> {
  if (!response.body) throw new SourceFailed('the release host answers nothing')
  return response.body as unknown as AsyncIterable<Uint8Array>
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message
}
