import type { svc } from '@svc/proto'
import type { Facts } from '../behaviour.ts'

const wired: Record<Facts['osType'], string> = { windows: 'Ethernet', macos: 'en0', linux: 'eth0' }

const byte = (value: number) => (value & 0xff).toString(16).padStart(2, '0')

/** One wired interface in a network of 250 devices. The addresses are kept for examples: RFC 1918 and a locally administered MAC. */
export function simulateNetwork(number: number, osType: Facts['osType']): svc.v1.Network.$Properties {
  const subnet = `10.${200 + ((number >> 16) & 0x1f)}.${(Math.floor(number / 250) + 1) & 0xff}`
  return {
    interfaces: [
      {
        name: wired[osType],
        macAddress: ['02', '5c', ...[24, 16, 8, 0].map((shift) => byte(number >> shift))].join(':'),
        addresses: [`${subnet}.${2 + (number % 250)}/24`],
        state: 'up',
        mtu: 1500,
        speedMbps: 1000,
        isPrimary: true,
      },
    ],
    defaultGateway: `${subnet}.1`,
    dnsServers: [`${subnet}.1`, '10.200.0.53'],
  }
}
