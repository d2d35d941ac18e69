import invite from './invite/routes.ts'
import login from './login/routes.ts'
import mfa from './mfa/routes.ts'
import session from './session/routes.ts'

export default [...login, ...invite, ...session, ...mfa]
