import { list, route } from '../../../kernel/route.ts'
import { listEnrollmentKeys } from './queries.ts'
import { CreateEnrollmentKey, EnrollmentKey, EnrollmentKeyFilter, NewEnrollmentKey } from './schema.ts'
import { createEnrollmentKey } from './service.ts'

export default [
  list('GET /enrollment-keys', {
    summary: 'List enrollment keys in scope; never the keys themselves',
    can: 'organizations:read',
    filter: EnrollmentKeyFilter,
    item: EnrollmentKey,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listEnrollmentKeys(db, query, page),
  }),
  route('POST /enrollment-keys', {
    summary: 'Create an enrollment key for a site; the answer shows it once',
    can: 'organizations:write',
    freshMfa: true,
    audit: 'enrollment_key.create',
    idempotent: 'sealed',
    status: 201,
    body: CreateEnrollmentKey,
    returns: NewEnrollmentKey,
    run: createEnrollmentKey,
  }),
]
