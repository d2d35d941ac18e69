import invite from './invite/routes.ts'
import login from './login/routes.ts'
import mfa from './mfa/routes.ts'
import password from './password/routes.ts'
import phone from './phone/routes.ts'
import registration from './registration/routes.ts'
import session from './session/routes.ts'

export default [...registration, ...login, ...invite, ...session, ...password, ...mfa, ...phone]
