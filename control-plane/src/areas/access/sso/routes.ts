import providers from './providers/routes.ts'
import signIn from './sign-in/routes.ts'

export default [...providers, ...signIn]
