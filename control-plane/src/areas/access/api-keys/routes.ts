import { Done } from '../../../kernel/envelope.ts'
import { list, route } from '../../../kernel/route.ts'
import { findApiKey, listApiKeys } from './queries.ts'
import { ApiKey, ApiKeyFilter, CreateApiKey, NewApiKey, UpdateApiKey } from './schema.ts'
import { changeApiKey, createApiKey, endApiKey, rotateApiKey } from './service.ts'

export default [
  list('GET /api-keys', {
    summary: 'List API keys in scope; never the keys themselves',
    can: 'organizations:read',
    filter: ApiKeyFilter,
    item: ApiKey,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listApiKeys(db, query, page),
  }),
  route('POST /api-keys', {
    summary: 'Create an API key; the answer shows it once',
    can: 'organizations:write',
    freshMfa: true,
    audit: 'api_key.create',
    idempotent: 'sealed',
    status: 201,
    body: CreateApiKey,
    returns: NewApiKey,
    run: createApiKey,
  }),
  route('GET /api-keys/:id', {
    summary: 'One API key; never the key itself',
    can: 'organizations:read',
    returns: ApiKey,
    run: ({ db, params }) => findApiKey(db, params.id),
  }),
  route('PATCH /api-keys/:id', {
    summary: 'Change an active API key’s name, scopes, limits or expiry',
    can: 'organizations:write',
    freshMfa: true,
    audit: 'api_key.update',
    body: UpdateApiKey,
    returns: ApiKey,
    run: changeApiKey,
  }),
  route('DELETE /api-keys/:id', {
    summary: 'Revoke an API key',
    can: 'organizations:write',
    freshMfa: true,
    audit: 'api_key.revoke',
    returns: Done,
    run: endApiKey,
  }),
  route('POST /api-keys/:id/rotate', {
    summary:
      'Give an active API key a new secret, shown once; the old one is dead at once and the caller is its owner',
    can: 'organizations:write',
    freshMfa: true,
    audit: 'api_key.rotate',
    idempotent: 'sealed',
    returns: NewApiKey,
    run: rotateApiKey,
  }),
]
