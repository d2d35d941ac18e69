import { jwtVerify } from 'jose'
import { openKeySet } from '../../../src/adapters/keys.ts'
import type { Ctx } from '../../../src/kernel/context.ts'
import { readerDb } from '../../../src/kernel/db.ts'
import { ApiError } from '../../../src/kernel/errors.ts'
import type { Kernel } from '../../../src/kernel/kernel.ts'
import type { Route } from '../../../src/kernel/route.ts'
import { Good } from '../world/good-token.ts'
import type { World } from '../world/things.ts'

type Run = (ctx: Ctx<{ id: string }, never, never>, prepared: never) => unknown

/** One operation with one mistake in it. */
interface Fault {
  name: string
  change: (world: World, route: Route) => Route
  /** what the matrix must say about it, among other things */
  says: readonly RegExp[]
}

const running = (route: Route, run: Run): Route => ({ ...route, run: run as Route['run'] })
const sameRun = (route: Route) => route.run as unknown as Run

/** Both walls are off: the query is as it is, and sees whatever there is. */
const unwalled = ({ core }: World, route: Route) =>
  running(route, (ctx, prepared) =>
    sameRun(route)({ ...ctx, db: readerDb(core.kernel.pool, { kind: 'system' }) }, prepared),
  )

export const faults: [string, Fault][] = [
  [
    'the walls off in a query for one, others’ devices are answered',
    {
      name: 'GET /devices/:id',
      change: unwalled,
      says: [/foreign, all: 200 instead of 404/, /shows .*zqforeign/],
    },
  ],
  [
    'the walls off in the query of a list, others’ devices are in it',
    {
      name: 'GET /devices',
      change: unwalled,
      says: [/foreign, all: seen instead of unseen/, /sibling, viewer: shows /],
    },
  ],
  [
    'deleted organizations not left out, one is answered',
    {
      name: 'GET /orgs/organizations/:id',
      change: (_, route) =>
        running(
          route,
          ({ db, params }) => db.one`
            select o.id, o.partner_id, o.name, o.slug, o.type, o.status, o.max_devices, o.billing_contact, null as contract_start,
              null as contract_end, '{}'::jsonb as settings, '{}'::jsonb as inherited_settings, o.created_at, o.updated_at
            from organizations o where ${db.visible('o')} and o.id = ${params.id}`,
        ),
      says: [/deleted, all: 200 instead of 404/, /deleted, all: shows zqgone/],
    },
  ],
  [
    'a refusal that did something before it said no, the row that was written shows',
    {
      name: 'PATCH /orgs/sites/:id',
      change: ({ owner }, route) =>
        running({ ...route, transaction: false }, async ({ params }) => {
          await owner`update svc.sites set updated_at = updated_at where id = ${params.id}`
          return undefined
        }),
      says: [/somebody was refused, and svc.sites changed/],
    },
  ],
  [
    'a refusal that tells whose a thing is, the name shows',
    {
      name: 'GET /orgs/sites/:id',
      change: ({ owner }, route) =>
        running(route, async ({ params }) => {
          const [site] = await owner<{ name: string }[]>`select name from svc.sites where id = ${params.id}`
          throw new ApiError('NOT_FOUND', `${site?.name} is not yours`)
        }),
      says: [/foreign, all: shows zqforeign/],
    },
  ],
]

/** The kernel, but that a token which is signed by us may be meant for anybody: it is taken as if it were one for us. */
export function withoutAudience({ core, config }: World): Kernel {
  const { kernel } = core
  const keys = openKeySet(config.keysDir, 'jwt').current()
  const retold = async (authorization: string) => {
    const good = new Good(authorization.replace(/^Bearer /, ''), keys)
    const { payload } = await jwtVerify(good.token, keys.publicKey)
    return payload.aud === undefined
      ? authorization
      : `Bearer ${await good.signed({ aud: `${config.publicUrl}/api` })}`
  }
  return {
    ...kernel,
    identify: async (credential) => {
      const { authorization } = credential
      if (!authorization || credential.apiKey) return kernel.identify(credential)
      const meant = await retold(authorization).catch(() => authorization)
      return kernel.identify({ ...credential, authorization: meant })
    },
  }
}
