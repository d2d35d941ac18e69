import { z } from 'zod'
import { Id } from '../../../kernel/id.ts'
import { Moment } from '../../../kernel/moment.ts'
import { wholeNumber } from '../../../kernel/query-text.ts'
import { PageQuery, pageSize } from '../../../kernel/page.ts'
import { label, text } from '../../../kernel/text.ts'

export const ReviewStatus = z.enum(['pending', 'in_progress', 'completed'])
export const Decision = z.enum(['pending', 'approved', 'revoked'])

const notes = text(2_000).nullable()

export const AccessReview = z
  .object({
    id: z.uuid(),
    partnerId: z.uuid(),
    orgId: z
      .uuid()
      .nullable()
      .describe(
        'The organization whose members are reviewed; null: the partner’s own and those of all its organizations',
      ),
    name: z.string(),
    description: z.string().nullable(),
    status: ReviewStatus.describe('`in_progress` from the first decision on'),
    reviewerId: z.uuid().describe('Who is to see to it; whoever manages users may decide'),
    createdBy: z.uuid(),
    dueDate: z.date().nullable(),
    completedAt: z.date().nullable(),
    completedBy: z.uuid().nullable(),
    itemCount: z.int().describe('Memberships that there were when it was made'),
    pendingCount: z.int().describe('Those of them on which nobody has decided'),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: 'AccessReview', description: 'Who of a tenant is to keep the access they have?' })
export type AccessReview = z.output<typeof AccessReview>

/** A membership as it was when the review was made, and what was decided on it. */
export const ReviewItem = z
  .object({
    id: z.uuid(),
    userId: z.uuid(),
    userName: z.string(),
    userEmail: z.string(),
    lastActiveAt: z.date().nullable().describe('The last login of the account; null: there was none'),
    orgId: z.uuid().nullable().describe('The organization of the membership; null: the partner itself'),
    roleId: z.uuid(),
    roleName: z.string(),
    permissions: z
      .array(z.string())
      .describe(
        'All that the role gave, inherited ones included: `resource:action` each, `*:*` is everything',
      ),
    decision: Decision,
    notes: z.string().nullable(),
    reviewedAt: z.date().nullable(),
    reviewedBy: z.uuid().nullable(),
  })
  .meta({
    id: 'AccessReviewItem',
    description: 'A membership as it was when the review was made, and what was decided on it.',
  })
export type ReviewItem = z.output<typeof ReviewItem>

export const AccessReviewDetail = AccessReview.extend({
  items: z.array(ReviewItem).describe('One page, by name'),
  nextCursor: z
    .string()
    .nullable()
    .describe('Hand it back as `cursor` for the next items; null with the last'),
}).meta({ id: 'AccessReviewDetail', description: 'An access review with a page of its items.' })
export type AccessReviewDetail = z.output<typeof AccessReviewDetail>

export const ReviewFilter = z.strictObject({
  status: ReviewStatus.optional().describe('Only reviews in this state'),
  orgId: Id.optional().describe('Only reviews of this organization’s members'),
  reviewerId: Id.optional().describe('Only reviews that this user is to see to'),
})
export type ReviewFilter = z.output<typeof ReviewFilter>

export const ItemQuery = z.strictObject({
  decision: Decision.optional().describe('Only items so decided; `pending`: on which somebody has to decide'),
  limit: wholeNumber(1, pageSize.max)
    .default(pageSize.default)
    .describe(`Items of a page; ${pageSize.default} when left out`),
  cursor: PageQuery.cursor.describe('`nextCursor` of the page before; absent for the first page'),
})
export type ItemQuery = z.output<typeof ItemQuery>

export const CreateAccessReview = z
  .strictObject({
    name: label(255).describe('1 to 255 characters'),
    description: text(2_000).nullable().optional().describe('At most 2,000 characters'),
    orgId: Id.optional().describe(
      'Reviews the members of this organization. Left out: the organization of the caller’s login, or else the partner’s own members and those of all its organizations',
    ),
    reviewerId: Id.optional().describe(
      'A member who may manage all users that are reviewed; the caller when left out',
    ),
    dueDate: Moment.optional().describe('RFC 3339; in the future'),
  })
  .meta({
    id: 'CreateAccessReview',
    examples: [
      { name: 'First quarter' },
      {
        name: 'After the audit',
        orgId: '0195d0a0-7c11-7000-8000-000000000001',
        dueDate: '2030-01-31T00:00:00Z',
      },
    ],
  })
export type CreateAccessReview = z.output<typeof CreateAccessReview>

export const DecideItem = z
  .strictObject({
    decision: Decision.describe(
      '`revoked` ends the membership once the review is completed; `pending` takes a decision back',
    ),
    notes: notes
      .optional()
      .describe('At most 2,000 characters; as before when left out, null takes them away'),
  })
  .meta({ id: 'DecideAccessReviewItem', examples: [{ decision: 'revoked', notes: 'Left the team in May' }] })
export type DecideItem = z.output<typeof DecideItem>

export const CompletedReview = AccessReview.extend({
  revokedCount: z.int().describe('Memberships that ended with it'),
  alreadyRemovedCount: z.int().describe('Memberships to be ended that were not there any more'),
}).meta({ id: 'CompletedAccessReview', description: 'An access review that is completed, and what it did.' })
export type CompletedReview = z.output<typeof CompletedReview>
