import { Done } from '../../../kernel/envelope.ts'
import { list, route } from '../../../kernel/route.ts'
import { findEnrollmentKey, listEnrollmentKeys } from './queries.ts'
import {
  CreateEnrollmentKey,
  EnrollmentKey,
  EnrollmentKeyFilter,
  NewEnrollmentKey,
  RotateEnrollmentKey,
} from './schema.ts'
import { createEnrollmentKey, endEnrollmentKey, rotateEnrollmentKey } from './service.ts'

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
  route('GET /enrollment-keys/:id', {
    summary: 'One enrollment key; never the key itself',
    can: 'organizations:read',
    returns: EnrollmentKey,
    run: ({ db, params }) => findEnrollmentKey(db, params.id),
  }),
  route('DELETE /enrollment-keys/:id', {
    summary: 'Revoke an enrollment key; devices that enrolled with it stay',
    can: 'organizations:write',
    freshMfa: true,
    audit: 'enrollment_key.revoke',
    returns: Done,
    run: endEnrollmentKey,
  }),
  route('POST /enrollment-keys/:id/rotate', {
    summary: 'Give an enrollment key a new secret, shown once, and a new count; the old one is dead at once',
    can: 'organizations:write',
    freshMfa: true,
    audit: 'enrollment_key.rotate',
    idempotent: 'sealed',
    body: RotateEnrollmentKey,
    returns: NewEnrollmentKey,
    run: rotateEnrollmentKey,
  }),
]
