import type { Handler } from './router.ts'

const sha256Bytes = 32

/** What the device's next token will be known by. */
export const credentialProposal: Handler<'credentialProposal'> = (
  session,
  message,
  size,
  { uplink },
  taken,
) => {
  if (message.tokenSha256?.length !== sha256Bytes) return session.close('MALFORMED_FRAME')
  uplink.push(session.deviceId, session.epoch, { credentialProposal: message }, size, taken)
}
