import { route } from '../../../../kernel/route.ts'
import { Login, LoginAnswer } from './schema.ts'
import { checkPassword, completeLogin } from './service.ts'

export default [
  route('POST /auth/login', {
    summary: 'Log in with e-mail and password',
    can: 'public',
    limit: ['login', 'login-address'],
    audit: 'user.login',
    idempotent: false,
    body: Login,
    returns: LoginAnswer,
    prepare: checkPassword,
    run: completeLogin,
  }),
]
