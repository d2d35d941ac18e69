import type { svc } from '@svc/proto'
import type { Facts } from '../behaviour.ts'
import { between, dice } from './dice.ts'

type Title = readonly [name: string, version: string, vendor: string]

const titles: Record<Facts['osType'], readonly Title[]> = {
  windows: [
    ['Northwind Office 2024', '16.0.17932.20222', 'Northwind'],
    ['Contoso Browser', '131.0.6778.205', 'Contoso'],
    ['Fabrikam Reader', '24.005.20320', 'Fabrikam'],
    ['Tailspin VPN', '3.8.1', 'Tailspin Networks'],
    ['Packer Zip', '24.09', 'Packer'],
    ['Wingtip Meetings', '6.3.0.52884', 'Wingtip'],
    ['Visual Runtime 2022 (x64)', '14.42.34433', 'Northwind'],
    ['Printer Driver PCL6', '61.285.1', 'Adatum'],
  ],
  macos: [
    ['Contoso Browser', '131.0.6778.205', 'Contoso'],
    ['Northwind Office', '16.92', 'Northwind'],
    ['Wingtip Meetings', '6.3.0', 'Wingtip'],
    ['Brew Terminal', '3.5.11', 'Brew'],
    ['Tailspin VPN', '3.8.0', 'Tailspin Networks'],
  ],
  linux: [
    ['bash', '5.2.15-2+b7', 'Debian'],
    ['ca-certificates', '20230311', 'Debian'],
    ['coreutils', '9.1-1', 'Debian'],
    ['curl', '7.88.1-10+deb12u8', 'Debian'],
    ['openssh-server', '1:9.2p1-2+deb12u4', 'Debian'],
    ['openssl', '3.0.15-1~deb12u1', 'Debian'],
    ['postgresql-15', '15.10-0+deb12u1', 'Debian'],
    ['systemd', '252.33-1~deb12u1', 'Debian'],
  ],
}

const sources: Record<Facts['osType'], string> = { windows: 'registry', macos: 'bundle', linux: 'dpkg' }
/** 2026-01-05, a Monday: when the images were made that such machines are set up from. */
const imagedAtMs = Date.UTC(2026, 0, 5)
const dayMs = 86_400_000

const packagesOf = (osType: Facts['osType']): readonly svc.v1.Package.$Properties[] =>
  titles[osType].map(([name, version, vendor], at) => ({
    name,
    version,
    vendor,
    architecture: osType === 'macos' ? 'arm64' : 'amd64',
    installedAtMs: imagedAtMs + at * dayMs,
    source: sources[osType],
  }))

/** Made once: a fleet of ten thousand shares them. */
const packages = {
  windows: packagesOf('windows'),
  macos: packagesOf('macos'),
  linux: packagesOf('linux'),
}

/** What such a machine has; some lack the last ones of the list. */
export function simulateSoftware(number: number, osType: Facts['osType']): svc.v1.Software.$Properties {
  const all = packages[osType]
  return { packages: all.slice(0, between(dice(number ^ 0x50f7), 4, all.length)) }
}
