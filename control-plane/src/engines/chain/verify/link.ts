import { createHash } from 'node:crypto'

const domain = Buffer.from('svc.audit.v1\0')

/** What the first seal of a chain follows. */
export const beginning: Buffer = Buffer.alloc(32)

const bytesOf = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex')

/** The hash of a seal: that this row stands at this place of this chain, behind that seal. */
export function link(partner: string, seq: number, previous: Uint8Array, row: string): Buffer {
  const place = Buffer.alloc(8)
  place.writeBigInt64BE(BigInt(seq))
  return createHash('sha256')
    .update(Buffer.concat([domain, bytesOf(partner), place, previous]))
    .update(row)
    .digest()
}
