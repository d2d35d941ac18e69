import { list, route } from '../../../kernel/route.ts'
import { completeReview } from './completion/service.ts'
import { createReview } from './creation/service.ts'
import { listReviews } from './queries.ts'
import {
  AccessReview,
  AccessReviewDetail,
  CompletedReview,
  CreateAccessReview,
  DecideItem,
  ItemQuery,
  ReviewFilter,
  ReviewItem,
} from './schema.ts'
import { decideItem, reviewDetail } from './service.ts'

export default [
  list('GET /access-reviews', {
    summary: 'List access reviews in scope',
    can: 'users:read',
    filter: ReviewFilter,
    item: AccessReview,
    newestBy: 'createdAt',
    run: ({ db, query }, page) => listReviews(db, query, page),
  }),
  route('POST /access-reviews', {
    summary: 'Review the access of all members that there are now',
    can: 'users:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'access_review.create',
    status: 201,
    body: CreateAccessReview,
    returns: AccessReview,
    run: createReview,
  }),
  route('GET /access-reviews/:id', {
    summary: 'One access review with a page of its items',
    can: 'users:read',
    query: ItemQuery,
    returns: AccessReviewDetail,
    run: reviewDetail,
  }),
  route('PATCH /access-reviews/:id/items/:itemId', {
    summary: 'Decide whether a user keeps a membership; nothing happens to it before the review is completed',
    can: 'users:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'access_review.item.update',
    body: DecideItem,
    returns: ReviewItem,
    run: decideItem,
  }),
  route('POST /access-reviews/:id/complete', {
    summary: 'End the memberships that are marked so, all or none',
    can: 'users:write',
    fullAccess: true,
    freshMfa: true,
    audit: 'access_review.complete',
    returns: CompletedReview,
    run: completeReview,
  }),
]
