import { route } from '../../../../kernel/route.ts'
import { DiskList, Hardware, Network, SoftwareList, SoftwareQuery } from './schema.ts'
import { disksOf, hardwareOf, networkOf, softwareOf } from './service.ts'

export default [
  route('GET /devices/:id/hardware', {
    summary: 'The hardware that the agent reported',
    can: 'devices:read',
    returns: Hardware,
    run: hardwareOf,
  }),
  route('GET /devices/:id/disks', {
    summary: 'The mounted file systems that the agent reported',
    can: 'devices:read',
    returns: DiskList,
    run: disksOf,
  }),
  route('GET /devices/:id/network', {
    summary: 'The network interfaces, gateway and name servers that the agent reported',
    can: 'devices:read',
    returns: Network,
    run: networkOf,
  }),
  route('GET /devices/:id/software', {
    summary: 'The installed software that the agent reported, by name',
    can: 'devices:read',
    query: SoftwareQuery,
    returns: SoftwareList,
    run: softwareOf,
  }),
]
