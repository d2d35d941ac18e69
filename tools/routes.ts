import { routes } from '../control-plane/src/areas/index.ts'
import { routesText } from '../control-plane/src/kernel/table.ts'

// The table of endpoints: `npm run -s routes | grep devices`.
process.stdout.write(routesText(routes))
