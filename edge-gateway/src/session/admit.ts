import type { CloseReason } from '@svc/proto'
import type { Admission, Claims } from '../claims/claims.ts'
import type { Counters } from '../ops/counters.ts'
import { commonProtocol, readHello } from './hello.ts'
import type { AdmissionRate } from './rate.ts'
import type { Session } from './session.ts'

export interface AdmitDeps {
  node: string
  claims: Claims
  rate: AdmissionRate
  counters: Counters
  nowUs: () => number
  /** of the database; 0: not known */
  life: () => number
  /** Has the control plane say what it knows of a device; rejects when it does not answer. */
  ask: (deviceId: string) => Promise<void>
  /** Tells another node that its connection of the device is superseded, if that has a lower epoch. */
  evict: (holder: { node: string; epoch: number }, deviceId: string, belowEpoch: number) => void
  /** A failure of ours, not the peer's. */
  failed: (error: unknown) => void
}

/**
 * Admission, before the claim: reads the Hello, keeps the rate, checks the version. What follows is {@link admit}.
 */
export function greet(session: Session, frame: Uint8Array, { rate }: AdmitDeps): void {
  const hello = readHello(frame)
  if (typeof hello === 'string') return session.apply({ kind: 'refused', reason: hello })
  if (!rate.take()) return session.apply({ kind: 'refused', reason: 'ADMISSION_RATE' })
  if (commonProtocol(hello) === undefined)
    return session.apply({ kind: 'refused', reason: 'PROTOCOL_VERSION' })
  if (session.newcomer) session.newcomer.hello = hello
  session.apply({ kind: 'hello' })
}

/** Takes the claim, turns out whoever held it, and lets the session in; or refuses it. Never rejects. */
export async function admit(session: Session, deps: AdmitDeps): Promise<void> {
  const decision = await verify(session, deps)
  if (decision.kind === 'refused') return session.apply(decision)
  takeOver(session, decision, deps)
  session.credentialVersion = decision.credentialVersion
  session.heartbeatIntervalMs = decision.heartbeatIntervalMs || defaultHeartbeatMs
  session.apply({ kind: 'admitted', epoch: decision.epoch })
}

/** Where Redis comes back in between, the answer lies in this node's memory and is looked for there: once more, then. */
const maxQuestions = 2

/** When the control plane says none. */
const defaultHeartbeatMs = 60_000

type Decision = Extract<Admission, { kind: 'admitted' }> | { kind: 'refused'; reason: CloseReason }

async function verify(session: Session, deps: AdmitDeps): Promise<Decision> {
  const { greeting } = session.newcomer ?? {}
  if (!greeting) return { kind: 'refused', reason: 'INTERNAL_ERROR' }
  const { deviceId, tokenSha256 } = greeting
  const claim = () =>
    deps.claims.admit({ deviceId, tokenSha256, node: deps.node, nowUs: deps.nowUs(), life: deps.life() })
  try {
    for (let asked = 0; ; asked++) {
      const answer = await claim()
      if (answer.kind !== 'miss') return answer
      if (asked === maxQuestions) return { kind: 'refused', reason: 'UNAVAILABLE' }
      deps.counters.missed++
      await deps.ask(deviceId)
      // Who has left meanwhile needs no claim.
      if (session.state.kind !== 'admitting') return { kind: 'refused', reason: 'PEER_CLOSED' }
    }
  } catch (error) {
    deps.failed(error)
    return { kind: 'refused', reason: 'UNAVAILABLE' }
  }
}

const takeOver = (
  { deviceId }: Session,
  { evict, epoch }: Extract<Decision, { kind: 'admitted' }>,
  deps: AdmitDeps,
) => {
  if (!evict) return
  deps.counters.superseded++
  // Of this node's own sessions the registry takes care.
  if (evict.node !== deps.node) deps.evict(evict, deviceId, epoch)
}
