import { route } from '../../../../kernel/route.ts'
import { Login, LoginAnswer } from './schema.ts'
import { checkPassword, completeLogin } from './service.ts'

/** About twice as many as passwords are checked and wait for it: the others are at the database, or are slowed down. */
const atOnce = 100

export default [
  route('POST /auth/login', {
    summary: 'Log in with e-mail and password',
    can: 'public',
    reserved: true,
    limit: ['login', 'login-address'],
    atOnce,
    audit: 'user.login',
    idempotent: false,
    body: Login,
    returns: LoginAnswer,
    prepare: checkPassword,
    run: completeLogin,
  }),
]
