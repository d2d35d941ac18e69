import { describe, expect, it } from 'vitest'
import { readProxied } from './proxy.ts'

const signature = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
const v4 = [...signature, 0x21, 0x11, 0, 12, 198, 51, 100, 7, 127, 0, 0, 1, 0x30, 0x39, 0x07, 0x5b]
const bytes16 = (...last: number[]) => [...Array.from({ length: 16 - last.length }, () => 0), ...last]
const v6Addresses = [0x20, 0x01, 0x0d, 0xb8, ...bytes16(9).slice(4), ...bytes16(1)]
const v6 = [...signature, 0x21, 0x21, 0, 36, ...v6Addresses, 0, 1, 0, 2]
const withExtras = [...signature, 0x21, 0x11, 0, 15, ...v4.slice(16), 0x04, 0, 0]
const local = [...signature, 0x20, 0, 0, 0]
const unspecified = [...signature, 0x21, 0, 0, 0]

describe('a PROXY v2 header', () => {
  it.each([
    ['over IPv4', v4, '198.51.100.7'],
    ['over IPv6', v6, '2001:db8:0:0:0:0:0:9'],
    ['with what proxies add', withExtras, '198.51.100.7'],
    ['of the proxy itself', local, undefined],
    ['of nobody', unspecified, undefined],
  ])('tells the client: %s', (_what, bytes, address) => {
    const behind = [0x10, 0x20]
    expect(readProxied(Buffer.from([...bytes, ...behind]))).toEqual({ address, bytes: bytes.length })
    for (let n = 1; n < bytes.length; n++) expect(readProxied(Buffer.from(bytes.slice(0, n)))).toBeUndefined()
  })

  it('may be absent', () => {
    for (const bytes of [[0x10], [0x0d, 0x0b], [...signature.slice(0, 11), 0]])
      expect(readProxied(Buffer.from(bytes))).toEqual({ address: undefined, bytes: 0 })
  })

  it.each([
    ['another version', [...signature, 0x11, 0x11, 0, 12]],
    ['an unknown command', [...signature, 0x22, 0x11, 0, 12]],
    ['more than anybody needs', [...signature, 0x21, 0x11, 0xff, 0xff]],
    ['too little for its addresses', [...signature, 0x21, 0x11, 0, 4, 1, 2, 3, 4]],
  ])('is none with %s', (_what, bytes) => {
    expect(readProxied(Buffer.from(bytes))).toBe('broken')
  })
})
