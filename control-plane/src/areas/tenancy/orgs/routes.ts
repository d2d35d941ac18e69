import organizations from './organizations/routes.ts'
import sites from './sites/routes.ts'

export default [...organizations, ...sites]
