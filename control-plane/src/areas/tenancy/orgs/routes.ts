import organizations from './organizations/routes.ts'
import partners from './partners/routes.ts'
import sites from './sites/routes.ts'

export default [...partners, ...organizations, ...sites]
