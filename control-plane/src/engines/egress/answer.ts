import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { EgressError } from '../../adapters/egress.ts'
import { type Answer, gather } from './exchange.ts'
import { unreachable } from './failure.ts'

type Unpack = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>

/** What servers send although it is not asked for. */
const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: promisify(gunzip) as Unpack,
  'x-gzip': promisify(gunzip) as Unpack,
  deflate: promisify(inflate) as Unpack,
  br: promisify(brotliDecompress) as Unpack,
  identity: async (bytes) => Buffer.from(bytes),
}

/** One layer, and no further than the limit: what a bomb would unfold to is never there. */
async function unpacked(bytes: Buffer, coding: string, mostBytes: number): Promise<Buffer> {
  const unpack = Object.hasOwn(unpackers, coding) ? unpackers[coding] : undefined
  if (!unpack) throw unreachable('content-encoding')
  return bytes.length === 0 ? bytes : unpack(bytes, { maxOutputLength: mostBytes })
}

/** RFC 9110 §15.4; 304 is no redirect, but an answer to what the caller asked with a condition. */
const isRedirect = (status: number) => status >= 300 && status < 400 && status !== 304

/** Where an answer says that it is instead; undefined: it says nothing of the kind. */
export const redirectOf = ({ statusCode, headers }: Answer): string | undefined =>
  isRedirect(statusCode) ? [headers['location']].flat()[0] : undefined

/** @throws EgressError REDIRECTED */
export function refuseRedirect(status: number): void {
  if (isRedirect(status))
    throw new EgressError('REDIRECTED', `the address answers ${status}, a redirect, which is not followed`)
}

function headersOf(given: Answer['headers'], packed: boolean): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(given)) {
    if (packed && (name === 'content-encoding' || name === 'content-length')) continue
    for (const value of [values ?? []].flat()) headers.append(name, value)
  }
  return headers
}

/** The whole answer, read and unpacked. @throws EgressError TOO_LARGE, UNREACHABLE */
export async function readAnswer(method: string, answer: Answer, mostBytes: number): Promise<Response> {
  const { statusCode: status, headers } = answer
  if (status < 200 || status > 599) throw unreachable('status')
  const sent = await gather(answer.body, mostBytes)
  const coding = String(headers['content-encoding'] ?? 'identity')
    .trim()
    .toLowerCase()
  const bodiless = method === 'HEAD' || [204, 205, 304].includes(status)
  const body = bodiless ? null : await unpacked(sent, coding, mostBytes)
  return new Response(body && new Uint8Array(body), {
    status,
    headers: headersOf(headers, coding !== 'identity'),
  })
}
