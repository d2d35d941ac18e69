/** One request to an address that a tenant may have chosen. */
export interface EgressInit {
  /** GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS; default GET */
  method?: string
  headers?: Record<string, string> | Headers
  body?: string | Uint8Array | URLSearchParams | null
  signal?: AbortSignal
  /** whose budget and circuit; default: the address's own host */
  key?: string
  /** of the answer's body, as sent and as unpacked; default 1 MiB */
  maxBytes?: number
  /** from the call to the last byte, waiting for a turn included; default 10 s, at most 30 s */
  timeoutMs?: number
}

/** The only way out to addresses that a tenant can influence (engines/egress). */
export interface Egress {
  /**
   * Asks the address and reads the answer to its end: what it gives holds no connection. Answers of every status but redirects are given.
   * May be called without its object, as `fetch` may be.
   *
   * @throws EgressError
   * @throws the reason of `signal`, when that was aborted
   */
  fetch(address: string | URL, init?: EgressInit): Promise<Response>
  /** Ends what runs and refuses what comes. Idempotent. */
  close(): Promise<void>
}

/**
 * | code | what |
 * |---|---|
 * | ADDRESS_DENIED | it leads, or may lead, to the inside |
 * | ADDRESS_INVALID | no address, header, method or port that is asked for anything |
 * | UNREACHABLE | there is no such name, nobody answers there, or what answers speaks no HTTP or has no good certificate |
 * | TIMED_OUT | the answer was not there in time |
 * | TOO_LARGE | the answer or the request is larger than it may be |
 * | REDIRECTED | it answers that it is somewhere else |
 * | BUSY | too much is under way for the key, or altogether |
 * | CIRCUIT_OPEN | it failed again and again lately, and is left alone for a while |
 */
export type EgressCode =
  | 'ADDRESS_DENIED'
  | 'ADDRESS_INVALID'
  | 'UNREACHABLE'
  | 'TIMED_OUT'
  | 'TOO_LARGE'
  | 'REDIRECTED'
  | 'BUSY'
  | 'CIRCUIT_OPEN'

/** Why an address was not asked, or gave nothing. The message is one line that the tenant may see: no address of ours is in it. */
export class EgressError extends Error {
  override name = 'EgressError'
  readonly code: EgressCode

  constructor(code: EgressCode, message: string) {
    super(message)
    this.code = code
  }
}
