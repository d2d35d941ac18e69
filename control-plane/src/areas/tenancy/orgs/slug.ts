import { z } from 'zod'
import { ApiError } from '../../../kernel/errors.ts'
import { slugFrom } from '../../../kernel/text.ts'

/** Lower-case letters, digits and inner hyphens, at most 100 characters. */
export const Slug = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$/,
    'must be lower-case letters, digits and inner hyphens, at most 100',
  )

/** `Acme Corp.` → `acme-corp`. @throws ApiError VALIDATION_ERROR for a name without a letter or digit of ASCII */
export function slugOf(name: string): string {
  const slug = slugFrom(name)
  if (slug !== '') return slug
  throw new ApiError('VALIDATION_ERROR', 'the name yields no slug: give one', {
    details: [{ in: 'body', field: 'slug', message: 'is missing, and the name yields none' }],
  })
}

/** Says where the slug came from: who gave none has never seen it. @param whose `organization`, `partner` */
export function slugTaken(
  whose: string,
  slug: string,
  { name, slug: given }: { name?: string | undefined; slug?: string | undefined },
): ApiError {
  const origin = given === undefined ? `, made from the name ${name},` : ''
  const message = `the slug ${slug}${origin} belongs to another ${whose}: give another slug`
  return new ApiError('ALREADY_EXISTS', message, { details: [{ ...(name !== undefined && { name }), slug }] })
}
