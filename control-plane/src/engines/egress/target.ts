import { isIP } from 'node:net'
import { EgressError } from '../../adapters/egress.ts'

/** An address that may be asked as far as its spelling says. */
export interface Target {
  url: URL
  /** a name without a dot at its end, or an address without brackets */
  host: string
  port: number
  secure: boolean
}

/** What of spellings is taken. */
export interface Spelling {
  /** http beside https */
  http: boolean
  /** first and last of each range */
  ports: readonly (readonly [number, number])[]
}

const mostCharacters = 2_048
/** What the URL standard silently drops, turns into slashes, or takes for a host in another spelling. */
const oddities = /[\s\p{Cc}\p{Cf}\\]/u
const authority = /^[a-z]+:\/\/([^/?#]*)/i

const invalid = (why: string) => new EgressError('ADDRESS_INVALID', why)

/**
 * Reads an address once; what is looked up, connected to and asked is taken from this. Numbers in other bases, full-width digits and the
 * like are the address that the URL standard makes of them.
 *
 * @throws EgressError ADDRESS_INVALID
 */
export function readTarget(address: string | URL, { http, ports }: Spelling): Target {
  const text = typeof address === 'string' ? address : address.href
  if (text.length > mostCharacters) throw invalid(`the address has more than ${mostCharacters} characters`)
  if (oddities.test(text)) throw invalid('the address has spaces, backslashes or characters that nobody sees')
  if (!URL.canParse(text)) throw invalid('this is no URL')
  const url = new URL(text)
  const secure = url.protocol === 'https:'
  if (!secure && !(http && url.protocol === 'http:'))
    throw invalid(`the address does not begin with https://${http ? ' or http://' : ''}`)
  const written = authority.exec(text)?.[1] ?? ''
  if (written.includes('@')) throw invalid('the address has a user or password in it')
  if (written.includes('%')) throw invalid('the host of the address is written with percent signs')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (host === '' || host.endsWith('.'))
    throw invalid('the host of the address is not written out, or ends with a dot')
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port)
  if (!ports.some(([first, last]) => port >= first && port <= last))
    throw invalid(`port ${port} is none that is asked`)
  url.hash = ''
  return { url, host, port, secure }
}

/** RFC 6761 §6.3: is the machine itself whatever a name server says. */
export const isLocalhost = (host: string): boolean => /(^|\.)localhost$/i.test(host)

/** Whether the host is an address rather than a name. */
export const isLiteral = (host: string): boolean => isIP(host) !== 0
