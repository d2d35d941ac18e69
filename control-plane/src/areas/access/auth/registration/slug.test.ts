import { expect, test } from 'vitest'
import { slugOf, suffixed } from './slug.ts'

/** As the database demands it. */
const form = /^[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?$/

test.each([
  ['Acme Corp.', 'acme-corp'],
  ['  Ärzte & Söhne GmbH ', 'arzte-sohne-gmbh'],
  ['株式会社', 'partner'],
  ['--', 'partner'],
])('%s becomes %s', (name, slug) => {
  expect(slugOf(name)).toBe(slug)
})

test.each(['a', 'x'.repeat(255), `${'x'.repeat(90)} ${'y'.repeat(90)}`, '株'])(
  'the slug of %s is one, with and without a suffix, which differs each time',
  (name) => {
    const slug = slugOf(name)
    const [one, other] = [suffixed(slug), suffixed(slug)]
    for (const made of [slug, one, other]) expect(made).toMatch(form)
    expect(one).not.toBe(other)
  },
)
