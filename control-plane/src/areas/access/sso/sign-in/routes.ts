import { redirect, route } from '../../../../kernel/route.ts'
import { LoginAnswer } from '../../auth/login/schema.ts'
import { admit } from './admit.ts'
import { begin, findBeginning } from './begin.ts'
import { verifyCallback } from './callback.ts'
import { check, exchange } from './exchange.ts'
import { Callback, Exchange, SsoCheck } from './schema.ts'

export default [
  redirect('GET /sso/login/:orgId', {
    summary: 'Send the browser to the organization’s identity provider, or back with an error',
    can: 'public',
    limit: 'sso',
    audit: { none: 'nobody has logged in yet: the exchange of the code leaves the row' },
    prepare: findBeginning,
    run: begin,
  }),
  redirect('GET /sso/callback', {
    summary:
      'The browser is back from the identity provider: send it to the application with a code, or with an error',
    can: 'public',
    limit: 'sso',
    audit: {
      none: 'what it does to an account leaves rows of its own, and the exchange of the code the one of the login',
    },
    query: Callback,
    prepare: verifyCallback,
    run: admit,
  }),
  route('POST /sso/exchange', {
    summary: 'Exchange the code of a login by single sign-on for tokens',
    can: 'public',
    limit: 'sso',
    audit: 'user.login',
    idempotent: false,
    body: Exchange,
    returns: LoginAnswer,
    run: exchange,
  }),
  route('GET /sso/check/:orgId', {
    summary: 'Whether an organization has an identity provider, and demands it',
    can: 'public',
    limit: 'sso',
    returns: SsoCheck,
    run: check,
  }),
]
