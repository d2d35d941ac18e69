import { type CloseReason, closeLabel, closeReasons, maxFrameBytes, svc, upKinds } from '@svc/proto'
import type { SecurityLog } from '@svc/proto/log'
import { count, type Counters } from '../ops/counters.ts'
import type { Limits } from '../ops/limits.ts'
import { admit, type AdmitDeps } from './admit.ts'
import { commonProtocol } from './hello.ts'
import type { Keepalive } from './keepalive.ts'
import type { Knocks } from './knocks.ts'
import type { Outbound } from './outbound.ts'
import { spread } from './rate.ts'
import type { Registry } from './registry.ts'
import type { Releases } from './releases.ts'
import type { Session } from './session.ts'
import type { Effect } from './states.ts'

export interface EffectDeps {
  node: string
  limits: Limits
  counters: Counters
  security: SecurityLog
  registry: Registry
  keepalive: Keepalive
  knocks: Knocks
  outbound: Outbound
  releases: Releases
  admission: AdmitDeps
  /** the window of a drain that is under way */
  moveWithinMs: () => number
  /** the server's time */
  nowMs: () => number
  announce: (session: Session, epoch: number, event: svc.v1.ISessionEvent) => void
}

/** Who is turned away for what they are, not for how busy we are. */
const notWanted: ReadonlySet<CloseReason> = new Set([
  'CREDENTIAL_INVALID',
  'CREDENTIAL_REVOKED',
  'QUARANTINED',
  'DECOMMISSIONED',
])

type Effects = { [K in Effect['kind']]: (session: Session, effect: Extract<Effect, { kind: K }>) => void }

const { Kind } = svc.v1.SessionEvent
const reasonNumber = (reason: CloseReason) => svc.v1.CloseReason[reason]

/** What the state machine's effects do in the world, one entry each. */
export const effectsOf = (deps: EffectDeps): Effects => {
  const { limits, counters, registry, keepalive, knocks, outbound, releases, admission } = deps
  return {
    admit: (session) => {
      keepalive.watch(session, limits.admitWithinMs)
      void admit(session, admission)
    },

    welcome: (session, { epoch }) => {
      const { greeting, hello, renewAtMs } = session.newcomer ?? {}
      session.newcomer = undefined
      if (greeting) knocks.giveBack(greeting.address)
      const holder = registry.residents.get(session.deviceId)
      if (holder && holder.epoch > epoch) return session.close('SUPERSEDED')
      registry.settle(session)
      holder?.close('SUPERSEDED')
      counters.admitted++
      keepalive.watch(session, session.heartbeatIntervalMs * limits.silentIntervals)
      session.link.admitted()
      deps.announce(session, epoch, {
        kind: Kind.CONNECTED,
        hello: hello ?? null,
        remoteAddress: greeting?.address ?? '',
        via: greeting?.via ?? '',
      })
      outbound.send(session, {
        seq: session.next(),
        welcome: {
          serverTimeMs: deps.nowMs(),
          epoch,
          heartbeatIntervalMs: session.heartbeatIntervalMs,
          maxFrameBytes,
          protocol: commonProtocol(hello ?? {}) ?? 0,
          upKinds: Object.values(upKinds),
          renewCredentialInMs: renewAtMs ? Math.max(1, renewAtMs - deps.nowMs()) : 0,
        },
      })
    },

    move: (session) => {
      outbound.send(session, {
        seq: session.next(),
        move: { afterMs: deps.moveWithinMs(), reason: reasonNumber('DRAINING') },
      })
    },

    refuse: (session, { reason }) => {
      count(counters.refused, reason)
      const label = closeLabel(reason)
      if (notWanted.has(reason))
        deps.security('device.refused', 'an agent is refused', { deviceId: session.deviceId, reason: label })
      const text = label.replaceAll('_', ' ')
      outbound.send(session, {
        seq: session.next(),
        refused: {
          reason: reasonNumber(reason),
          retryAfterMs: retryAfterMs(reason, deps),
          text,
          serverTimeMs: deps.nowMs(),
        },
      })
      session.link.close(reason)
    },

    close: (session, { reason }) => session.link.close(reason),

    release: (session, { epoch, reason }) => {
      releases.add({ deviceId: session.deviceId, epoch, node: deps.node })
      if (!reason) return
      registry.leave(session)
      count(counters.closed, reason)
      deps.announce(session, epoch, { kind: Kind.DISCONNECTED, reason: reasonNumber(reason) })
    },

    forget: (session, { reason }) => {
      const { greeting } = session.newcomer ?? {}
      session.newcomer = undefined
      if (greeting) knocks.ended(greeting.address, reason)
      registry.leave(session)
      count(counters.closed, reason)
    },
  }
}

/** 0 where the same credential will never do (`Refused`). */
const retryAfterMs = (reason: CloseReason, { limits, admission }: EffectDeps): number => {
  if (closeReasons[reason] === 'stop') return 0
  if (reason === 'ADMISSION_RATE') return admission.rate.retryAfterMs()
  const patient = reason === 'QUARANTINED' || reason === 'PROTOCOL_VERSION'
  return spread(patient ? limits.maxRetryWindowMs : limits.retryWindowMs)
}
