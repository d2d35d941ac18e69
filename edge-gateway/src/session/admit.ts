import { type CloseReason, isCurrent, type KeyProof, verifyProof } from '@svc/proto'
import type { Admission, AdmitRequest, Claims } from '../claims/claims.ts'
import type { Counters } from '../ops/counters.ts'
import { commonProtocol, readHello } from './hello.ts'
import type { Overtaken } from './overtaken.ts'
import type { AdmissionRate } from './rate.ts'
import type { Session } from './session.ts'

/** What a newcomer shows of itself. */
export interface Shown {
  deviceId: string
  tokenSha256: Buffer
  proof: KeyProof | undefined
}

/** `replaced`: the token was good until a moment ago. Whoever shows it comes later, or has left already. */
export type Told = 'told' | 'replaced'

export interface AdmitDeps {
  node: string
  claims: Claims
  rate: AdmissionRate
  counters: Counters
  overtaken: Overtaken
  nowUs: () => number
  /** of the database; 0: not known */
  life: () => number
  /** Has the control plane say what it knows of a device, and of the token that it shows; rejects when it does not answer. */
  ask: (shown: Shown) => Promise<Told>
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

/** Takes the claim and lets the session in, or refuses it. Never rejects. */
export async function admit(session: Session, deps: AdmitDeps): Promise<void> {
  const { deviceId } = session
  deps.overtaken.began(deviceId)
  const decision = await verify(session, deps)
  const belowEpoch = deps.overtaken.ended(deviceId)
  if (decision.kind === 'refused') return session.apply(decision)
  // Who it was is told by the claims; of this node's own sessions the registry takes care.
  if (decision.evict) deps.counters.superseded++
  // Its claim is somebody else's by now: there is nothing to give back.
  if (decision.epoch < belowEpoch) return session.apply({ kind: 'refused', reason: 'SUPERSEDED' })
  session.credentialVersion = decision.credentialVersion
  session.heartbeatIntervalMs = decision.heartbeatIntervalMs || defaultHeartbeatMs
  if (session.newcomer) session.newcomer.renewAtMs = decision.renewAtMs
  session.apply({ kind: 'admitted', epoch: decision.epoch })
}

/** Where Redis comes back in between, the answer lies in this node's memory and is looked for there: once more, then. */
const maxQuestions = 2

/** When the control plane says none. */
const defaultHeartbeatMs = 60_000

type Decision = Extract<Admission, { kind: 'admitted' }> | { kind: 'refused'; reason: CloseReason }

async function verify(session: Session, deps: AdmitDeps): Promise<Decision> {
  const shown = shownBy(session)
  if (!shown) return { kind: 'refused', reason: 'INTERNAL_ERROR' }
  const { deviceId, tokenSha256 } = shown
  let proven: AdmitRequest['proven']
  const claim = (asked: boolean) =>
    deps.claims.admit({
      deviceId,
      tokenSha256,
      node: deps.node,
      nowUs: deps.nowUs(),
      life: deps.life(),
      asked,
      proven,
    })
  try {
    for (let asked = 0; ; ) {
      const answer = await claim(asked > 0)
      if (answer.kind === 'prove' && !proven) {
        const proof = await prove(shown, answer.publicKey, deps.nowUs())
        if (typeof proof === 'string') return { kind: 'refused', reason: proof }
        proven = { publicKey: answer.publicKey, atUs: proof.atUs }
        continue
      }
      if (answer.kind === 'admitted' || answer.kind === 'refused') return answer
      // Two keys in turn: what is known of the device changes under its feet.
      if (answer.kind === 'prove' || asked === maxQuestions) return { kind: 'refused', reason: 'UNAVAILABLE' }
      asked++
      deps.counters.missed++
      const told = await deps.ask(shown)
      // Who has left meanwhile needs no claim.
      if (session.state.kind !== 'admitting') return { kind: 'refused', reason: 'PEER_CLOSED' }
      if (told === 'replaced') return { kind: 'refused', reason: 'UNAVAILABLE' }
    }
  } catch (error) {
    deps.failed(error)
    return { kind: 'refused', reason: 'UNAVAILABLE' }
  }
}

/** Over MQTT the proof came with the token, over WebSocket with the Hello. */
function shownBy({ newcomer }: Session): Shown | undefined {
  if (!newcomer) return undefined
  const { greeting, hello } = newcomer
  const { deviceId, tokenSha256 } = greeting
  const said = hello?.proof
  const proof =
    greeting.proof ??
    (said ? { atUs: said.atUs ?? 0, signature: said.signature ?? new Uint8Array() } : undefined)
  return { deviceId, tokenSha256, proof }
}

/** The proof, if it is one of that key and of now. What is shown twice the claims find. */
async function prove(shown: Shown, publicKey: string, nowUs: number): Promise<KeyProof | CloseReason> {
  const { proof } = shown
  if (!proof || !(await verifyProof(shown, proof, Buffer.from(publicKey, 'hex')))) return 'CREDENTIAL_INVALID'
  return isCurrent(proof.atUs, nowUs) ? proof : 'PROOF_STALE'
}
