import type { CloseReason } from '@svc/proto'

const tooLong = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
const frameError = /^WS_ERR_/

/** What an error of `ws` says of the peer's frames; undefined where it is none of the peer's making. */
export function frameErrorOf({ code = '' }: NodeJS.ErrnoException): CloseReason | undefined {
  if (!frameError.test(code)) return undefined
  return code === tooLong ? 'OVERSIZED_FRAME' : 'MALFORMED_FRAME'
}
