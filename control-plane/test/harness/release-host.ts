import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'
import type { Release } from '../../../tools/release/build.ts'
import { manifestName, signatureName } from '../../../tools/release/write.ts'

/** The repository that the host holds. */
export const repository = 'acme/agent'

type Serve = (response: ServerResponse) => void

interface Asset {
  id: number
  name: string
  serve: Serve
}

interface Published {
  tag: string
  draft: boolean
  prerelease: boolean
  assets: Asset[]
}

export interface PublishOptions {
  /** default: `v` and the release's version */
  tag?: string
  draft?: boolean
  /** what assets really answer, by name; undefined: there is no such asset */
  replace?: Record<string, Serve | Uint8Array | undefined>
}

const send =
  (bytes: Uint8Array): Serve =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes)

/** A server that speaks as much of GitHub's REST API as releases need, and a storage that its assets are redirected to. */
export class ReleaseHost {
  readonly #api: Server
  readonly #storage: Server
  readonly #releases: Published[] = []
  /** every request, to which of the two, and with what credential */
  readonly asked: { at: 'api' | 'storage'; path: string; authorization: string | undefined }[] = []
  /** what the API answers instead of anything else */
  answer: Serve | undefined
  /** where assets are redirected to; default: the storage; undefined: they are sent at once */
  redirectTo: string | undefined
  #ids = 0

  private constructor() {
    this.#api = createServer((request, response) => this.#asked('api', request, response))
    this.#storage = createServer((request, response) => this.#asked('storage', request, response))
  }

  static async start(): Promise<ReleaseHost> {
    const host = new ReleaseHost()
    for (const server of [host.#api, host.#storage])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    host.redirectTo = `http://${host.storage}`
    afterAll(() => host.close())
    return host
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#api.address() as AddressInfo).port}`
  }

  /** host and port */
  get storage(): string {
    return `127.0.0.1:${(this.#storage.address() as AddressInfo).port}`
  }

  publish(release: Release, { tag, draft = false, replace = {} }: PublishOptions = {}): void {
    const { version } = release.manifest
    const files: Record<string, Serve | Uint8Array | undefined> = {
      [manifestName]: release.manifestBytes,
      [signatureName]: Buffer.from(JSON.stringify(release.signature)),
      ...Object.fromEntries(release.assets.map(({ name, bytes }) => [name, bytes])),
      ...replace,
    }
    const assets = Object.entries(files).flatMap(([name, file]) =>
      file ? [{ id: ++this.#ids, name, serve: typeof file === 'function' ? file : send(file) }] : [],
    )
    this.#releases.unshift({ tag: tag ?? `v${version}`, draft, prerelease: version.includes('-'), assets })
  }

  close(): void {
    for (const server of [this.#api, this.#storage]) {
      server.close()
      server.closeAllConnections()
    }
  }

  #asked(
    at: 'api' | 'storage',
    { url: path = '', headers }: IncomingMessage,
    response: ServerResponse,
  ): void {
    this.asked.push({ at, path, authorization: headers.authorization })
    response.on('error', () => undefined)
    if (at === 'api' && this.answer) return this.answer(response)
    const asset = /\/(?:assets|blob)\/(\d+)$/.exec(path)?.[1]
    if (asset) return this.#asset(at, Number(asset), response)
    const [, of, name] = /\/releases\/download\/([^/]+)\/([^/]+)$/.exec(path) ?? []
    const named = this.#releases.find((one) => one.tag === of)?.assets.find((one) => one.name === name)
    if (named) return this.#asset(at, named.id, response)
    const tag = /\/tags\/(.+)$/.exec(path)?.[1]
    const release = this.#releases.find((one) =>
      path.endsWith('/latest') ? !one.draft && !one.prerelease : one.tag === tag,
    )
    const known = path.startsWith(`/repos/${repository}/releases/`) && release
    if (!known) return void response.writeHead(404).end('{}')
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(this.#described(known)))
  }

  #asset(at: 'api' | 'storage', id: number, response: ServerResponse): void {
    const asset = this.#releases.flatMap(({ assets }) => assets).find((one) => one.id === id)
    if (!asset) return void response.writeHead(404).end()
    if (at === 'storage' || this.redirectTo === undefined) return asset.serve(response)
    response.writeHead(302, { location: `${this.redirectTo}/blob/${id}` }).end()
  }

  #described({ tag, draft, prerelease, assets }: Published) {
    return {
      tag_name: tag,
      draft,
      prerelease,
      assets: assets.map(({ id, name }) => ({
        id,
        name,
        browser_download_url: `${this.url}/${repository}/releases/download/${tag}/${name}`,
      })),
    }
  }
}
