import { type CloseReason, decodeEnvelope, maxHelloBytes, protocol, type svc } from '@svc/proto'

/**
 * The Hello in a first frame, or why the connection ends: too large before we know whom we deal with, not an envelope, or
 * something else than a Hello.
 */
export function readHello(frame: Uint8Array): svc.v1.IHello | CloseReason {
  if (frame.length > maxHelloBytes) return 'OVERSIZED_FRAME'
  try {
    const envelope = decodeEnvelope(frame)
    return envelope.body === 'hello' && envelope.hello ? envelope.hello : 'UNEXPECTED_FRAME'
  } catch {
    return 'MALFORMED_FRAME'
  }
}

/** The newest protocol version that both sides speak; undefined if there is none. */
export function commonProtocol({ protocolMin, protocolMax }: svc.v1.IHello): number | undefined {
  const version = Math.min(protocol.max, protocolMax ?? 0)
  return version >= Math.max(protocol.min, protocolMin ?? 0) ? version : undefined
}
