import { route } from '../../../../kernel/route.ts'
import { AutoUpdateSet, SetAutoUpdate } from './schema.ts'
import { setAutoUpdate } from './service.ts'

export default [
  route('POST /devices/:id/auto-update', {
    summary: 'Turn self-update of the agent on or off; the agent keeps that over restarts',
    can: 'devices:write',
    audit: 'device.auto_update.set',
    body: SetAutoUpdate,
    returns: AutoUpdateSet,
    run: setAutoUpdate,
  }),
]
