import type { Answer, TestApp } from '../app.ts'

/** A person's browser: it keeps cookies by host, follows redirects, and reaches the application without a network. */
export class Browser {
  readonly #t: TestApp
  readonly #cookies = new Map<string, Map<string, string>>()
  readonly #address: string
  /** every address that it was sent to */
  readonly history: string[] = []

  /** @param who which user of the identity provider sits at it; empty: nobody, who cancels */
  constructor(t: TestApp, who: string, address: string) {
    this.#t = t
    this.#address = address
    this.who = who
  }
  readonly who: string

  /** The cookies of a host, to be looked at or planted. */
  jar(host: string): Map<string, string> {
    const jar = this.#cookies.get(host) ?? new Map<string, string>()
    this.#cookies.set(host, jar)
    return jar
  }

  #keep(host: string, lines: readonly string[]) {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '' || /max-age=0/i.test(line)) this.jar(host).delete(name)
      else this.jar(host).set(name, value)
    }
  }

  #cookieOf(host: string): Record<string, string> {
    const text = [...this.jar(host)].map(([name, value]) => `${name}=${value}`).join('; ')
    return text === '' ? {} : { cookie: text }
  }

  /** Asks the application. */
  async ask(what: `${string} /${string}`, body?: unknown): Promise<Answer> {
    const { host } = new URL(this.#t.config.publicUrl)
    const answer = await this.#t.request(what, null, {
      headers: this.#cookieOf(host),
      remoteAddress: this.#address,
      ...(body !== undefined && { body }),
    })
    this.#keep(host, [answer.headers['set-cookie'] ?? []].flat().map(String))
    return answer
  }

  /** One step: where an address sends it. Undefined: it does not. */
  async step(address: string): Promise<string | undefined> {
    const { publicUrl } = this.#t.config
    if (address.startsWith(`${publicUrl}/api/v1/`)) {
      const answer = await this.ask(`GET ${address.slice(`${publicUrl}/api/v1`.length)}` as `GET /${string}`)
      if (answer.status !== 302) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
      return String(answer.headers['location'])
    }
    const { host } = new URL(address)
    if (this.who !== '') this.jar(host).set('who', this.who)
    const answer = await fetch(address, { redirect: 'manual', headers: this.#cookieOf(host) })
    await answer.arrayBuffer()
    this.#keep(host, answer.headers.getSetCookie())
    const location = answer.headers.get('location')
    return location === null ? undefined : new URL(location, address).href
  }

  /** Follows an address until `stop` says so, or until it is in the application. */
  async follow(from: string, stop: (address: string) => boolean = () => false): Promise<string> {
    let at = from
    for (let steps = 0; steps < 12; steps++) {
      this.history.push(at)
      const isPage = at.startsWith(this.#t.config.publicUrl) && !at.includes('/api/v1/')
      if (isPage || stop(at)) return at
      const next = await this.step(at)
      if (next === undefined) throw new Error(`a dead end at ${new URL(at).pathname}`)
      at = next
    }
    throw new Error('too many redirects')
  }

  /** To the provider and back, up to the address of the callback. */
  toCallback = (orgId: string): Promise<string> =>
    this.follow(`${this.#t.config.publicUrl}/api/v1/sso/login/${orgId}`, (at) =>
      at.includes('/sso/callback?'),
    )

  /** The whole way: the code of the fragment, or the error. */
  async logIn(orgId: string): Promise<{ code: string } | { error: string }> {
    return outcomeOf(await this.follow(`${this.#t.config.publicUrl}/api/v1/sso/login/${orgId}`))
  }

  /** As {@link logIn}, and the exchange. @throws Error where it ends with an error */
  async tokens(orgId: string): Promise<Answer> {
    const came = await this.logIn(orgId)
    if ('error' in came) throw new Error(`the login ended with ${came.error}`)
    return this.ask('POST /sso/exchange', { code: came.code })
  }
}

/** What the application is told at an address. */
export function outcomeOf(address: string): { code: string } | { error: string } {
  const { hash, searchParams } = new URL(address)
  const code = /^#ssoCode=(.+)$/.exec(hash)?.[1]
  return code === undefined ? { error: String(searchParams.get('error')) } : { code }
}
