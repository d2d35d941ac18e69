import { route } from '../../../../kernel/route.ts'
import { Register, Registered, RegisterPartner } from './schema.ts'
import { checkRegistration, register, registerPartner } from './service.ts'

export default [
  route('POST /auth/register', {
    summary: 'Make an account that belongs to no organization; only with ENABLE_REGISTRATION',
    can: 'public',
    existsIf: 'enableRegistration',
    limit: 'register',
    audit: 'user.register',
    idempotent: false,
    body: Register,
    returns: Registered,
    status: 201,
    prepare: checkRegistration,
    run: register,
  }),
  route('POST /auth/register-partner', {
    summary: 'Make a partner, its roles and its first administrator; only with ENABLE_REGISTRATION',
    can: 'public',
    existsIf: 'enableRegistration',
    limit: 'register-partner',
    audit: 'partner.create',
    idempotent: false,
    body: RegisterPartner,
    returns: Registered,
    status: 201,
    prepare: checkRegistration,
    run: registerPartner,
  }),
]
