import { envelope, envelopeOf } from '../../../kernel/envelope.ts'
import { route } from '../../../kernel/route.ts'
import { permissions } from './catalogue.ts'
import { Permission } from './schema.ts'

export default [
  route('GET /permissions/catalog', {
    summary: 'What roles may be made of; the list that is checked by',
    can: 'users:read',
    returns: envelopeOf(Permission),
    run: () => envelope([...permissions], null),
  }),
]
