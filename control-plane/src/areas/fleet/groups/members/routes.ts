import { Done } from '../../../../kernel/envelope.ts'
import { list, route } from '../../../../kernel/route.ts'
import {
  AddDevices,
  DevicesAdded,
  GroupDevice,
  GroupDeviceFilter,
  MembershipChange,
  MembershipLogFilter,
} from './schema.ts'
import { addDevices, changeList, memberList, removeDevice } from './service.ts'

export default [
  list('GET /groups/:id/devices', {
    summary: 'The devices of a group, those that joined last first',
    can: 'devices:read',
    filter: GroupDeviceFilter,
    item: GroupDevice,
    newestBy: 'addedAt',
    run: memberList,
  }),
  route('POST /groups/:id/devices', {
    summary: 'Add devices to a group; the answer says what became of each',
    can: 'devices:write',
    fullAccess: 'organization',
    audit: 'device_group.devices.add',
    status: 200,
    body: AddDevices,
    returns: DevicesAdded,
    run: addDevices,
  }),
  route('DELETE /groups/:id/devices/:deviceId', {
    summary: 'Take a device out of a group',
    can: 'devices:write',
    fullAccess: 'organization',
    audit: 'device_group.devices.remove',
    returns: Done,
    run: removeDevice,
  }),
  list('GET /groups/:id/membership-log', {
    summary: 'Which devices joined and left a group, newest first',
    can: 'devices:read',
    filter: MembershipLogFilter,
    item: MembershipChange,
    newestBy: 'createdAt',
    run: changeList,
  }),
]
