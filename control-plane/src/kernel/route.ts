import type { z } from 'zod'
import type { Ctx } from './context.ts'
import type { Download } from './download.ts'
import type { LimitName } from './limits.ts'
import type { Page } from './page.ts'
import type { Snapshot } from './db.ts'
import type { Outflow } from './stream.ts'
import type { Permission } from './permissions.ts'
import type { WithJsonRows } from './rows-as-json.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Who may call. Everything but a permission is one of five words. */
export type Can = Permission | 'public' | 'signed-in' | 'portal' | 'enrollment' | 'platform'

type Names<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Names<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never
type PathOf<R> = R extends `${Method} ${infer Path}` ? Path : never
/** `{ id: string }` of `'GET /devices/:id'`. */
export type ParamsOf<R extends string> = { [K in Names<PathOf<R>>]: string }

type Out<S> = S extends z.ZodType ? z.output<S> : unknown
/**
 * What `run` may give back: the shape of `returns` before serialization, or undefined, which is a 404. Without `returns` there is
 * nothing to give back: 204.
 */
type Returned<S> = S extends z.ZodType
  ? z.input<S> | WithJsonRows<z.input<S>> | undefined
  : undefined | null | void

interface Common {
  can: Can
  summary: string
  limit?: LimitName | readonly LimitName[]
  /** so many of these requests are answered at once by a process; the rest is told to come again, before anything is asked about what they say */
  atOnce?: number
  /** it goes over connections that are kept for such: also where all others are in use people can log in, and out */
  reserved?: true
  /** a flag of the configuration; where it is off there is no such endpoint */
  existsIf?: 'enableRegistration'
  /** callable without a second factor by a user whose role demands one */
  mfaExempt?: true
  /** demands a second factor checked within ten minutes */
  freshMfa?: true
  /**
   * Demands that the caller is limited to no part of their partner or organization (interface §Authentication 11); `organization`: to
   * no sites and device groups, be it of one organization or of several.
   */
  fullAccess?: true | 'organization'
}

/** A write says its audit action, or false with the reason why it leaves no row. */
type Audit<R extends string> = R extends `GET ${string}`
  ? { audit?: string | false; writes?: never } | { audit: string | { none: string }; writes: true }
  : { audit: string | { none: string } }

type Run<R extends string, Q, B> = Ctx<ParamsOf<R>, Out<Q>, Out<B>>

/** What runs: `run` alone gives the answer; with `answer`, what `run` gives is handed to it. */
type Steps<R extends string, Q, B, S, A, P> =
  | { run: (ctx: Run<R, Q, B>, prepared: P) => Promise<Returned<S>> | Returned<S>; answer?: never }
  | {
      run: (ctx: Run<R, Q, B>, prepared: P) => Promise<A> | A
      /** Runs after the commit, outside any transaction: waits for what `run` started. */
      answer: (ctx: Run<R, Q, B>, value: NonNullable<A>) => Promise<Returned<S>>
    }

export type RouteSpec<R extends string, Q, B, S, A, P> = Common &
  Audit<R> & {
    params?: Partial<Record<Names<PathOf<R>>, z.ZodType<string>>>
    query?: Q
    body?: B
    returns?: S
    /** default 200; 201 for a create, 202 for accepted work, 204 without `returns` */
    status?: 200 | 201 | 202 | 204
    /** answers are remembered by Idempotency-Key unless false; `sealed` where the answer shows a secret once */
    idempotent?: false | 'sealed'
    /** false: no transaction around `run` (waits on a device, or streams) */
    transaction?: false
    /**
     * Runs before the transaction, so that slow work (hashing a password) holds no connection; `run` gets its result second.
     * Its `db` reads only. Written before `run`, so that the type of `prepared` is known there.
     */
    prepare?: (ctx: Run<R, Q, B>) => Promise<P>
  } & Steps<R, Q, B, S, A, P>

/** One endpoint, erased for the table. */
export interface Route extends Common {
  method: Method
  path: string
  audit: string | false | { none: string }
  writes: boolean
  params: Record<string, z.ZodType<string>>
  query: z.ZodType | undefined
  body: z.ZodType | undefined
  returns: z.ZodType | undefined
  status: number
  idempotent: boolean | 'sealed'
  transaction: boolean
  list: boolean
  /** what `run` gives is a {@link Download} */
  download: boolean
  /** sends piece by piece what {@link Outflow} says, from one snapshot of the database */
  stream: StreamRun | undefined
  streams: ((poolSize: number) => number) | undefined
  /** what `run` gives is a {@link Redirect} */
  redirect: boolean
  prepare: ((ctx: Ctx<never, never, never>) => Promise<unknown>) | undefined
  run: (ctx: Ctx<never, never, never>, prepared: never) => unknown
  answer: ((ctx: Ctx<never, never, never>, value: never) => Promise<unknown>) | undefined
}

/** A list endpoint in the generic envelope `{data, pagination: {hasMore, cursor}}` (interface §Paging envelopes). */
export interface ListSpec<R extends string, F, I extends z.ZodType> extends Common {
  filter?: F
  item: I
  /** the item's timestamp field that orders the list, newest first; ties are broken by id */
  newestBy: keyof z.output<I> & string
  run: (ctx: Ctx<ParamsOf<R>, Out<F>, unknown>, page: Page) => Promise<z.input<I>[]>
}

/** An endpoint that sends bytes instead of JSON. */
export interface DownloadSpec<R extends string, Q> extends Common {
  params?: Partial<Record<Names<PathOf<R>>, z.ZodType<string>>>
  query?: Q
  run: (ctx: Run<R, Q, undefined>) => Promise<Download | undefined>
}

type StreamRun = (ctx: Ctx<never, never, never>, db: never) => Promise<Outflow | undefined>

/** An endpoint that sends rows as they are read, with back-pressure, and leaves its audit row before the first of them. */
export interface StreamSpec<Q, B> extends Common {
  audit: string
  query?: Q
  body?: B
  /** so many of them at once in a process, as each holds a connection to the database */
  streams: (poolSize: number) => number
  run: (ctx: Ctx<object, Out<Q>, Out<B>>, db: Snapshot) => Promise<Outflow | undefined>
}

/** Where a browser is sent. */
export interface Redirect {
  to: string
}

/** An endpoint for browsers that answers with another address, also where it refuses: 302, whatever comes. */
export interface RedirectSpec<R extends string, Q, P> extends Common {
  /** what it leaves is written by itself: the outcome is not told by the status */
  audit: { none: string }
  query?: Q
  prepare?: (ctx: Run<R, Q, undefined>) => Promise<P>
  run: (ctx: Run<R, Q, undefined>, prepared: P) => Promise<Redirect>
}

export { download, list, redirect, route, stream } from './declare.ts'
