import type { Trace } from '@svc/proto/trace'
import type { KeyStanding } from './api-keys.ts'
import type { Permission } from './permissions.ts'
import type { Ports } from './ports.ts'
import type { Db, Scope } from './tenancy.ts'

/** Who acts, as the audit log and `issuedBy` name them. */
export type Actor =
  | { type: 'user'; id: string; email: string }
  /** `ownerId` and `email`: of the user with whose rights the key acts */
  | { type: 'api_key'; id: string; email: string; ownerId: string }
  | { type: 'device'; id: string }
  | { type: 'system' }
  | { type: 'anonymous' }

/** A request's caller, decided once by `caller.ts`. */
export interface Caller {
  kind: 'nobody' | 'user' | 'api-key' | 'portal'
  actor: Actor
  scope: Scope
  /** effective permissions, inherited ones included */
  permissions: ReadonlySet<Permission | '*:*'>
  platformAdmin: boolean
  /** a second factor was checked in this login */
  mfa: boolean
  /** when that was last (`freshMfa`) */
  mfaAt?: Date
  /** the partner or organization that the login is for */
  membership?: Membership
  /** the role that the caller has there */
  roleId?: string
  /** the role demands TOTP and the user has none: 428 on everything but the exempt routes */
  mustEnrolMfa: boolean
  /** the refresh family (login) behind an access token */
  sessionId?: string
  /** the login came through an organization's identity provider, and acts there alone */
  sso?: SsoLogin
  /** what an API key says of itself */
  key?: KeyStanding
}

/** The user behind an actor: oneself, or the owner of the API key. Undefined: nobody's. */
export function userBehind(actor: Actor): string | undefined {
  if (actor.type === 'user') return actor.id
  return actor.type === 'api_key' ? actor.ownerId : undefined
}

/** `mfa`: the provider checked a second factor, and is trusted for it. */
export interface SsoLogin {
  providerId: string
  mfa: boolean
}

/** A user may belong to several partners and organizations; one login is for one of them. */
export type Membership =
  | { kind: 'partner'; id: string }
  | { kind: 'organization'; id: string; partnerId: string }

export interface Client {
  requestId: string
  /** for what it causes elsewhere; absent: what is done on a server is no request */
  trace?: Trace
  ip: string
  userAgent: string | undefined
  header(name: string): string | undefined
  cookie(name: string): string | undefined
  /** aborts when the client hangs up or the request has run too long: for handlers that wait */
  readonly gone: AbortSignal
}

/** What a handler may set on the answer besides its value. */
export interface Answer {
  header(name: string, value: string): void
  cookie(
    name: string,
    value: string,
    options: {
      maxAgeSeconds: number
      httpOnly: boolean
      path: string
      /** default: strict; `lax` comes back with a browser that another site sends here */
      sameSite?: 'lax'
    },
  ): void
}

/** What the audit row says beyond action, actor, time and client, which the kernel knows. */
export interface AuditSubject {
  /** replaces the declared action, where one path does two things (`POST /auth/mfa/verify`) */
  action?: string
  type?: string
  id?: string
  name?: string
  partnerId?: string
  orgId?: string
  details?: Record<string, unknown>
  /** replaces the caller as actor, where the request itself establishes who acts (login, enrollment) */
  actor?: Actor
}

/** A refusal worth a row: a failed login, a denied enrollment. */
export interface Refusal extends AuditSubject {
  action: string
  result: 'failure' | 'denied'
}

export interface DomainEvent {
  type: string
  subjectId: string
  partnerId: string
  orgId: string | null
  payload: Record<string, unknown>
}

export interface Ctx<Params = Record<string, never>, Query = unknown, Body = unknown> {
  db: Db
  /**
   * For handlers that wait: the caller's view of the database as it is by now, to be asked for anew each time (promise P7).
   * Outside of any transaction. @throws ApiError as at the beginning, once the caller may not do this any more
   */
  still: () => Promise<Db>
  caller: Caller
  actor: Actor
  client: Client
  answer: Answer
  ports: Ports
  params: Params
  query: Query
  body: Body
  /** Completes the audit row of this write; no row is written after `audited('none')` (a login that answers `mfaRequired`). */
  audited: (subject: AuditSubject | 'none') => void
  /** An audit row in a transaction of its own, written whatever becomes of this request's. */
  refused: (refusal: Refusal) => void
  /**
   * For `public` and `enrollment` routes: once the request has proved whose it is (password, enrollment key), the rest of this
   * transaction runs in that scope: the returned `db`, `emit` and the audit row. Only inside a write's transaction.
   */
  establish: (scope: Scope) => Promise<Db>
  /** Durable: an outbox row in this transaction. */
  emit: (event: DomainEvent) => void
  /** Best effort, after the commit: hints. Must not throw. */
  after: (effect: () => unknown) => void
}
