import { EgressError, type EgressInit } from '../../adapters/egress.ts'

/** What is sent, checked. */
export interface Outgoing {
  method: string
  headers: Record<string, string>
  body: string | Uint8Array | null
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Those of the connection and of where it goes are not the caller's to say (RFC 9110 §7.6.1); nor how an answer is packed. */
const ours =
  /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|expect|accept-encoding|http2-settings|forwarded|via|x-forwarded-.*|x-real-ip|proxy-.*|:.*)$/
const token = /^[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/
/** Visible characters, spaces and tabs, of one byte each (RFC 9110 §5.5). */
const value = /^[\t\x20-\x7e\x80-\xff]*$/
const [mostHeaders, mostHeaderBytes, mostBodyBytes] = [64, 16_384, 1024 * 1024]

const invalid = (why: string) => new EgressError('ADDRESS_INVALID', why)

function headersOf(given: EgressInit['headers']): Record<string, string> {
  const pairs = given instanceof Headers ? [...given] : Object.entries(given ?? {})
  if (pairs.length > mostHeaders) throw invalid(`more than ${mostHeaders} headers`)
  const headers: Record<string, string> = { 'user-agent': 'svc' }
  let bytes = 0
  for (const [name, text] of pairs) {
    const lower = name.toLowerCase()
    if (!token.test(lower) || ours.test(lower))
      throw invalid(`the header ${JSON.stringify(name.slice(0, 100))} is not for callers to set`)
    if (typeof text !== 'string' || !value.test(text))
      throw invalid(`the header ${lower} has characters that no header may have`)
    bytes += lower.length + text.length
    headers[lower] = text
  }
  if (bytes > mostHeaderBytes)
    throw new EgressError('TOO_LARGE', `the headers have more than ${mostHeaderBytes} bytes`)
  return headers
}

/** @throws EgressError ADDRESS_INVALID, TOO_LARGE */
export function readRequest({ method = 'GET', headers, body }: EgressInit): Outgoing {
  const upper = method.toUpperCase()
  if (!methods.has(upper))
    throw invalid(`the method ${JSON.stringify(method.slice(0, 20))} is none that is used`)
  const given = headersOf(headers)
  const isForm = body instanceof URLSearchParams
  const sent = isForm ? body.toString() : (body ?? null)
  if (sent !== null && typeof sent !== 'string' && !(sent instanceof Uint8Array))
    throw invalid('a body is text, bytes or parameters of a form')
  if (sent !== null && Buffer.byteLength(sent) > mostBodyBytes)
    throw new EgressError('TOO_LARGE', `the body has more than ${mostBodyBytes} bytes`)
  return {
    method: upper,
    headers: {
      ...(isForm && { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }),
      ...given,
      'accept-encoding': 'identity',
    },
    body: sent,
  }
}
