import { v7 as uuid } from 'uuid'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Scope } from '../../../../kernel/tenancy.ts'
import { giveBuiltInRoles } from '../../../access/roles/built-in/service.ts'
import { insertOrganization } from './queries.ts'
import { type CreateOrganization, type Organization, Slug } from './schema.ts'

/**
 * A new customer of the caller's partner.
 *
 * @throws ApiError 403 unless the caller is at partner level with all organizations; 409 when the slug is taken
 */
export async function createOrganization(
  ctx: Ctx<Record<string, never>, unknown, CreateOrganization>,
): Promise<Organization> {
  const partnerId = partnerWithAllOrganizations(ctx.db.scope)
  const slug = ctx.body.slug ?? slugOf(ctx.body.name)
  const organization = await insertOrganization(ctx.db, { ...ctx.body, id: uuid(), partnerId, slug })
  if (!organization) throw slugTaken(ctx.body, slug)
  const { id, name } = organization
  await giveBuiltInRoles(ctx.db, { partnerId, orgId: id })
  ctx.audited({ type: 'organization', id, name, partnerId, orgId: id })
  return organization
}

/** Who sees only some organizations must not make one that they would not see (interface §Authentication 11). */
function partnerWithAllOrganizations(scope: Scope): string {
  if (scope.kind === 'tenant' && scope.orgs === 'all') return scope.partnerId
  throw new ApiError('FULL_ACCESS_REQUIRED', 'full partner organization access required')
}

/** Says where the slug came from: who gave none has never seen it. */
function slugTaken({ name, slug: given }: CreateOrganization, slug: string): ApiError {
  const origin = given === undefined ? `, made from the name ${name},` : ''
  const message = `the slug ${slug}${origin} belongs to another organization: give another slug`
  return new ApiError('ALREADY_EXISTS', message, { details: [{ name, slug }] })
}

/** `Acme Corp.` → `acme-corp`. */
function slugOf(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase().replaceAll(/\p{M}/gu, '')
  const slug = plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 100)
    .replaceAll(/^-+|-+$/g, '')
  if (Slug.safeParse(slug).success) return slug
  throw new ApiError('VALIDATION_ERROR', 'the name yields no slug: give one', {
    details: [{ in: 'body', field: 'slug', message: 'is missing, and the name yields none' }],
  })
}
