import type { Handler } from './router.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether it can be a command id at all: what cannot is stopped here, before it meets anybody else's work. */
const isId = (id: string | null | undefined) => uuid.test(id ?? '')

/** The agent has the command in its ledger. */
export const commandAck: Handler<'commandAck'> = (session, message, size, { uplink, trail }, taken) => {
  if (!isId(message.commandId)) return session.close('MALFORMED_FRAME')
  uplink.push(
    session.deviceId,
    session.epoch,
    { commandAck: message, trace: trail.up(session, message, 'ack') },
    size,
    taken,
  )
}

/** The agent has started it. */
export const commandProgress: Handler<'commandProgress'> = (
  session,
  message,
  size,
  { uplink, trail },
  taken,
) => {
  if (!isId(message.commandId)) return session.close('MALFORMED_FRAME')
  uplink.push(
    session.deviceId,
    session.epoch,
    { commandProgress: message, trace: trail.up(session, message, 'progress') },
    size,
    taken,
  )
}

/** Its outcome. The agent keeps it until the control plane's ResultAck, so one that is not accepted here comes again. */
export const commandResult: Handler<'commandResult'> = (session, message, size, { uplink, trail }, taken) => {
  if (!isId(message.commandId)) return session.close('MALFORMED_FRAME')
  uplink.push(
    session.deviceId,
    session.epoch,
    { commandResult: message, trace: trail.up(session, message, 'result') },
    size,
    taken,
  )
}
