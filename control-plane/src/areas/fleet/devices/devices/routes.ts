import { Done } from '../../../../kernel/envelope.ts'
import { route } from '../../../../kernel/route.ts'
import { DeviceDetail, DeviceList, DeviceQuery } from './schema.ts'
import { decommission, deviceDetail, deviceList } from './service.ts'

export default [
  route('GET /devices', {
    summary: 'List devices, filtered and sorted; keyset mode unless `page` is given',
    can: 'devices:read',
    query: DeviceQuery,
    returns: DeviceList,
    run: deviceList,
  }),
  route('GET /devices/:id', {
    summary: 'One device with its hardware, disks and groups',
    can: 'devices:read',
    returns: DeviceDetail,
    run: deviceDetail,
  }),
  route('DELETE /devices/:id', {
    summary: 'Decommission a device: its credential dies within seconds, its history stays',
    can: 'devices:delete',
    audit: 'device.decommission',
    status: 200,
    returns: Done,
    run: decommission,
  }),
]
