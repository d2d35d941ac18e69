import type { Figure, Measure } from '../../method/contract.ts'
import { groups } from './questions.ts'

export const measures: readonly Measure[] = [
  { name: 'page p50', unit: 'ms', digits: 1 },
  { name: 'page p99', unit: 'ms', digits: 1 },
  { name: 'slowest question p99', unit: 'ms', digits: 1 },
  { name: 'figures p50', unit: 'ms', digits: 0 },
  { name: 'figures max', unit: 'ms', digits: 0 },
]

const titles = {
  newest: 'the newest rows',
  large: 'the newest 500',
  filtered: 'filters that fit much',
  few: 'filters that fit little or nothing, or long ago',
  search: 'words, common and rare',
}

export const figures: readonly Figure[] = [
  ...groups.map(
    (group): Figure => ({
      id: 'A7',
      title: `audit log, one page, p99 of the slowest question: ${titles[group]}`,
      measure: 'slowest question p99',
      side: `ours:${group}`,
      target: { atMost: 50 },
      limitedBy: 'rows that are looked at for a page: 10,000 of an index, or 5,000 from all over the table',
    }),
  ),
  {
    id: 'A7',
    title: 'audit log, the newest page, beside its statement',
    measure: 'page p50',
    side: 'ours:newest',
    peer: 'pgbench:newest',
    target: { ratioAtMost: 4 },
    limitedBy: 'a hundred rows with details as JSON, in Node, and a request with its checks around them',
  },
  {
    id: 'A7',
    title: 'audit log, figures of 30 and of 366 days',
    measure: 'figures max',
    side: 'ours:figures',
    target: { atMost: 15_000 },
    limitedBy: 'each row of the span is read',
  },
]
