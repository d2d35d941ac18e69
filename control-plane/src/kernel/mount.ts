import type { FastifyInstance } from 'fastify'
import { answer } from './answer.ts'
import { withDeadline } from './deadline.ts'
import { downloadTimeoutMs } from './download.ts'
import { askAgain, auditingDenials, callerOf, mayCall, takePoints } from './entry.ts'
import type { Kernel, Mounted } from './kernel.ts'
import { admitKey } from './key-gate.ts'
import { noAnswer } from './outcome.ts'
import { settle } from './points.ts'
import { type Enter, roomFor } from './room.ts'
import type { Route } from './route.ts'
import { serializer } from './serialize.ts'
import type { Scope } from './tenancy.ts'

/** A path that ends with a slash is the same without it: `/orgs/` is what people write `/orgs`. */
export const pathsOf = (path: string): string[] => (path.endsWith('/') ? [path, path.slice(0, -1)] : [path])

/** Every endpoint goes through these steps, in this order; `mount` is their list. */
export function mount(app: FastifyInstance, kernel: Kernel, route: Route, prefix: string): void {
  for (const path of pathsOf(route.path)) mountAt(app, kernel, route, prefix + path)
}

/** Routes that say the same of their streams share the connections that these may hold. */
const streamRooms = new WeakMap<Kernel, Map<Route['streams'], Enter>>()

function roomOf(kernel: Kernel, { streams, atOnce }: Route): Enter | undefined {
  if (!streams) return atOnce === undefined ? undefined : roomFor(atOnce)
  const rooms = streamRooms.get(kernel) ?? new Map<Route['streams'], Enter>()
  streamRooms.set(kernel, rooms)
  const most = streams(kernel.ports.config.databasePool)
  const room = rooms.get(streams) ?? roomFor(most, Math.ceil(most / 2))
  rooms.set(streams, room)
  return room
}

const tenantOf = (scope: Scope) => (scope.kind === 'tenant' ? scope.partnerId : undefined)

function mountAt(app: FastifyInstance, kernel: Kernel, route: Route, url: string): void {
  const mounted: Mounted = { kernel, route, text: route.returns ? serializer(route.returns) : () => noAnswer }
  const enter = roomOf(kernel, route)
  app.route({
    method: route.method,
    url,
    exposeHeadRoute: route.method === 'GET' && !route.writes,
    ...((route.download || route.stream) && { handlerTimeout: downloadTimeoutMs }),
    onRequest: async (request, reply) => {
      request.calledAt = performance.now()
      request.caller = await callerOf(mounted, request)
      await auditingDenials(mounted, request, reply, async () => {
        await admitKey(kernel.ports, kernel.keyUses, request, reply)
        if (route.limit) await takePoints(mounted, request)
        mayCall(mounted, request.caller)
      })
    },
    // With the body there, where one is read: whoever sends theirs slowly must not keep the others out.
    ...((route.method !== 'GET' || route.stream) && {
      preValidation: async (request, reply) => {
        await askAgain(mounted, request, reply)
        enter?.(reply, tenantOf(request.caller.scope))
      },
    }),
    ...(route.limit && {
      onSend: async (request, reply) => settle(kernel.ports.limits, request.taken ?? [], reply.statusCode),
    }),
    handler:
      route.download || route.stream
        ? (request, reply) => answer(mounted, request, reply)
        : (request, reply) =>
            withDeadline(reply, kernel.answerWithinMs, () => answer(mounted, request, reply)),
  })
}
