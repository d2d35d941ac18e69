import { Done } from '../../../../kernel/envelope.ts'
import { list, route } from '../../../../kernel/route.ts'
import { presets } from './presets.ts'
import {
  CreateProvider,
  Presets,
  Provider,
  ProviderFilter,
  SetStatus,
  TestedProvider,
  UpdateProvider,
} from './schema.ts'
import {
  changeProvider,
  createProvider,
  discoverAnew,
  discoverNew,
  oneProvider,
  providersSeen,
  removeProvider,
} from './service.ts'
import { discoverAgain, discoverMissing, setStatus, testProvider } from './status.ts'

export default [
  route('GET /sso/presets', {
    summary: 'What is known of common identity providers',
    can: 'signed-in',
    returns: Presets,
    run: () => ({ presets: [...presets] }),
  }),
  list('GET /sso/providers', {
    summary: 'List identity providers in scope; never their secrets',
    can: 'organizations:read',
    filter: ProviderFilter,
    item: Provider,
    newestBy: 'createdAt',
    run: providersSeen,
  }),
  route('POST /sso/providers', {
    summary: 'Create an identity provider of an organization; it is inactive until it is activated',
    can: 'organizations:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'sso.provider.create',
    status: 201,
    body: CreateProvider,
    returns: Provider,
    prepare: discoverNew,
    run: createProvider,
  }),
  route('GET /sso/providers/:id', {
    summary: 'One identity provider; never its secret',
    can: 'organizations:read',
    returns: Provider,
    run: oneProvider,
  }),
  route('PATCH /sso/providers/:id', {
    summary: 'Change an identity provider',
    can: 'organizations:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'sso.provider.update',
    body: UpdateProvider,
    returns: Provider,
    prepare: discoverAnew,
    run: changeProvider,
  }),
  route('DELETE /sso/providers/:id', {
    summary: 'Delete an identity provider with its identities and the logins that came through it',
    can: 'organizations:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'sso.provider.delete',
    returns: Done,
    run: removeProvider,
  }),
  route('POST /sso/providers/:id/status', {
    summary: 'Set the status of an identity provider',
    can: 'organizations:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'sso.provider.status.update',
    body: SetStatus,
    returns: Provider,
    prepare: discoverMissing,
    run: setStatus,
  }),
  route('POST /sso/providers/:id/test', {
    summary: 'Ask an identity provider what it publishes of itself',
    can: 'organizations:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'sso.provider.test',
    returns: TestedProvider,
    prepare: discoverAgain,
    run: testProvider,
  }),
]
