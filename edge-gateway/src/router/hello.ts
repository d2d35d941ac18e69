import { svc } from '@svc/proto'
import { commonProtocol } from '../session/hello.ts'
import type { Handler } from './router.ts'

/**
 * Over MQTT the CONNECT let the device in, and says nothing of the agent: its Hello may follow, and completes what was said of the
 * connection. Over WebSocket it came first, and there is no second.
 */
export const hello: Handler<'hello'> = (session, message, size, { uplink }, taken) => {
  const { via, address = '' } = session.link
  if (via !== 'mqtt') return session.close('UNEXPECTED_FRAME')
  if (message.protocolMax && commonProtocol(message) === undefined) return session.close('PROTOCOL_VERSION')
  const connected = { kind: svc.v1.SessionEvent.Kind.CONNECTED, hello: message, remoteAddress: address, via }
  uplink.push(session.deviceId, session.epoch, { session: connected }, size, taken)
}
