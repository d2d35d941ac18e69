import { route } from '../../../kernel/route.ts'
import { Enroll, Enrolled } from './schema.ts'
import { enroll } from './service.ts'

export default [
  route('POST /agents/enroll', {
    summary: 'Enroll a device with an enrollment key; the answer shows the device token once',
    can: 'enrollment',
    limit: 'enroll',
    audit: 'device.enroll',
    idempotent: false,
    status: 201,
    body: Enroll,
    returns: Enrolled,
    run: enroll,
  }),
]
