import { Done } from '../../../../kernel/envelope.ts'
import { route } from '../../../../kernel/route.ts'
import { MoveDevice, QuarantineDevice } from './schema.ts'
import { moveToOrganization, quarantineDevice, releaseDevice } from './service.ts'

export default [
  route('POST /devices/:id/quarantine', {
    summary: 'Cut a device off until it is released: its connection and what is under way end within seconds',
    can: 'devices:write',
    audit: 'device.quarantine',
    status: 200,
    body: QuarantineDevice,
    returns: Done,
    run: quarantineDevice,
  }),
  route('POST /devices/:id/release', {
    summary: 'Let a device out of quarantine; it comes back by itself',
    can: 'devices:write',
    audit: 'device.release',
    status: 200,
    returns: Done,
    run: releaseDevice,
  }),
  route('POST /devices/:id/move-org', {
    summary: 'Move a device to a site of another organization of the same partner',
    can: 'devices:write',
    audit: 'device.move_org',
    status: 200,
    body: MoveDevice,
    returns: Done,
    run: moveToOrganization,
  }),
]
