import type { FastifyReply, FastifyRequest } from 'fastify'
import { v7 as uuid } from 'uuid'
import { clientAddress } from './address.ts'
import { scopedDb, type Transaction } from './db.ts'
import { goneSignal } from './deadline.ts'
import type { Actor, Answer, AuditSubject, Caller, Client, Ctx, DomainEvent, Refusal } from './context.ts'
import type { Ports } from './ports.ts'
import type { Db, Scope } from './tenancy.ts'

type Cookie = [name: string, value: string, options: Parameters<Answer['cookie']>[2]]

interface CallRights {
  open: boolean
  still: Ctx['still']
}

/** What a request may not do where it is. */
const misuse = (what: string) => new Error(`${what} outside of a write's transaction`)

/** One request being answered: what its handler sees as `ctx`, and what it leaves behind. */
export class Call {
  readonly caller: Caller
  readonly client: Client
  readonly ports: Ports
  readonly headers: [string, string][] = []
  readonly cookies: Cookie[] = []
  readonly effects: (() => unknown)[] = []
  readonly refusals: (Refusal & { actor: Actor })[] = []
  subject: AuditSubject | 'none' = {}
  scope: Scope
  readonly #open: boolean
  readonly #still: Ctx['still']
  #tx: Transaction | undefined
  #db: Db | undefined

  /**
   * @param of `open`: the route asks for no credential: the request itself may prove whose it is, whoever sends it; `still`: see
   * {@link Ctx.still}
   */
  constructor(request: FastifyRequest, reply: FastifyReply, of: Pick<Call, 'scope' | 'ports'> & CallRights) {
    this.caller = request.caller
    this.scope = of.scope
    this.ports = of.ports
    this.#open = of.open
    this.#still = of.still
    this.client = clientOf(request, reply)
  }

  /** @param tx absent: reads only */
  context(
    input: { params: unknown; query: unknown; body: unknown },
    db: Db,
    tx?: Transaction,
  ): Ctx<never, never, never> {
    this.#tx = tx
    this.#db = tx && db
    const { params, query, body } = input as { params: never; query: never; body: never }
    return {
      params,
      query,
      body,
      db,
      still: this.#still,
      caller: this.caller,
      actor: this.caller.actor,
      client: this.client,
      ports: this.ports,
      answer: {
        header: (name, value) => this.headers.push([name, value]),
        cookie: (name, value, options) => this.cookies.push([name, value, options]),
      },
      audited: (subject) => {
        this.subject = subject
      },
      refused: (refusal) => {
        this.refusals.push({ ...refusal, actor: refusal.actor ?? this.caller.actor })
      },
      establish: (scope) => this.#establish(scope),
      emit: (event) => this.#emit(event),
      after: (effect) => {
        this.effects.push(effect)
      },
    }
  }

  async #establish(scope: Scope): Promise<Db> {
    if (!this.#tx) throw misuse('establish')
    if (!this.#open) throw new Error('the caller has a scope already')
    this.scope = scope
    this.#db = scopedDb(this.#tx, scope)
    return this.#db
  }

  #emit({ type, subjectId, partnerId, orgId, payload }: DomainEvent): void {
    if (!this.#db) throw misuse('emit')
    this.#db.later`
      insert into outbox (id, partner_id, org_id, type, subject_id, payload)
      values (${uuid()}, ${partnerId}, ${orgId}, ${type}, ${subjectId}, ${JSON.stringify(payload)}::text::jsonb)`
  }

  /** Puts headers and cookies on the reply: only on an answer that succeeded. */
  decorate(reply: FastifyReply): void {
    const secure = this.ports.config.publicUrl.startsWith('https:')
    for (const [name, value] of this.headers) reply.header(name, value)
    for (const [name, value, { maxAgeSeconds, httpOnly, path, sameSite = 'strict' }] of this.cookies) {
      reply.setCookie(name, value, { maxAge: maxAgeSeconds, httpOnly, path, secure, sameSite })
    }
  }
}

/** Who asks, from where, as handlers and the audit log see it. */
export function clientOf(request: FastifyRequest, reply: FastifyReply): Client {
  let gone: AbortSignal | undefined
  const header = (name: string) => {
    const value = request.headers[name.toLowerCase()]
    return Array.isArray(value) ? value[0] : value
  }
  return {
    requestId: request.id,
    trace: request.trace,
    ip: clientAddress(request.ip, request.socket.remoteAddress),
    userAgent: header('user-agent'),
    header,
    cookie: (name) => request.cookies[name],
    get gone() {
      return (gone ??= goneSignal(reply))
    },
  }
}
