import { list, route } from '../../../../kernel/route.ts'
import { Accepted, CommandDetail, CommandRow, SendCommand, Wait } from './schema.ts'
import { cancelCommand, commandList, findOne, sendCommand } from './service.ts'

export default [
  route('POST /devices/:id/commands', {
    summary:
      'Tell a device to do something; 201 means that it is committed and will be offered until `expiresAt`',
    can: 'devices:execute',
    audit: 'device.command.send',
    status: 201,
    body: SendCommand,
    returns: Accepted,
    run: sendCommand,
  }),
  list('GET /devices/:id/commands', {
    summary: 'What a device was told to do, newest first, without output',
    can: 'devices:read',
    item: CommandRow,
    newestBy: 'createdAt',
    run: commandList,
  }),
  route('GET /devices/:id/commands/:commandId', {
    summary: 'One command with its output; waits up to `waitMs` for its end',
    can: 'devices:read',
    query: Wait,
    returns: CommandDetail,
    run: findOne,
  }),
  route('POST /devices/:id/commands/:commandId/cancel', {
    summary: 'Take a command back: at once while queued, else the device is asked to stop',
    can: 'devices:execute',
    audit: 'device.command.cancel',
    status: 200,
    returns: CommandRow,
    run: cancelCommand,
  }),
]
