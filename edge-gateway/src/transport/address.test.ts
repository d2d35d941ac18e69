import { describe, expect, it } from 'vitest'
import { addressText, clientAddress, trustOf } from './address.ts'

describe('addresses', () => {
  it('are written as text, IPv4 inside IPv6 as IPv4', () => {
    expect(addressText(Uint8Array.from([10, 0, 0, 1]))).toBe('10.0.0.1')
    const mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1]
    expect(addressText(Uint8Array.from(mapped))).toBe('10.0.0.1')
    expect(addressText(Uint8Array.from([0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1]))).toBe(
      '2001:db8:0:0:0:0:0:1',
    )
  })

  it('are trusted by range, of either family, and nothing else is', () => {
    const trusted = trustOf(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])
    expect(['10.9.9.9', '192.0.2.1', '2001:db8:0:0:0:0:0:1'].every(trusted)).toBe(true)
    expect(['11.0.0.1', '192.0.2.2', '2001:db9::1', '', 'proxy'].some(trusted)).toBe(false)
    expect(trustOf([])('127.0.0.1')).toBe(false)
  })
})

describe('the client behind proxies', () => {
  const trusted = trustOf(['10.0.0.0/8'])
  const from = (forwarded: string, peer = '10.0.0.1', proxied = '') =>
    clientAddress({ peer, proxied, forwarded }, trusted)

  it('is the last address that no proxy of ours has', () => {
    expect(from('198.51.100.1')).toBe('198.51.100.1')
    expect(from('1.2.3.4, 198.51.100.1, 10.0.0.7')).toBe('198.51.100.1')
  })

  it('is the peer itself when that is not trusted, whatever it claims', () => {
    expect(from('1.2.3.4', '203.0.113.5')).toBe('203.0.113.5')
  })

  it('comes from the PROXY header where there is one', () => {
    expect(from('', '10.0.0.1', '198.51.100.9')).toBe('198.51.100.9')
  })

  it('is not something that is no address', () => {
    expect(from('unknown, <script>')).toBe('10.0.0.1')
    // Who wrote `unknown` did not know, so what the client wrote before it is not to be believed.
    expect(from('6.6.6.6, unknown, 10.0.0.7')).toBe('10.0.0.7')
  })
})
