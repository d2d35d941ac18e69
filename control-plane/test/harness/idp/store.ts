interface Payload {
  uid?: string
  grantId?: string
  consumed?: number
}

/** What an identity provider remembers, without an end and for itself: its own store forgets after a thousand things. */
export function storeOf() {
  const all = new Map<string, Payload>()
  return class Store {
    readonly #kind: string
    constructor(kind: string) {
      this.#kind = kind
    }
    #key = (id: string) => `${this.#kind}:${id}`
    async upsert(id: string, payload: Payload) {
      all.set(this.#key(id), payload)
    }
    async find(id: string) {
      return all.get(this.#key(id))
    }
    async findByUid(uid: string) {
      return [...all].find(([key, payload]) => key.startsWith(`${this.#kind}:`) && payload.uid === uid)?.[1]
    }
    async findByUserCode() {
      return undefined
    }
    async destroy(id: string) {
      all.delete(this.#key(id))
    }
    async consume(id: string) {
      const payload = all.get(this.#key(id))
      if (payload) payload.consumed = Math.floor(Date.now() / 1_000)
    }
    async revokeByGrantId(grantId: string) {
      for (const [key, payload] of all) if (payload.grantId === grantId) all.delete(key)
    }
  }
}
