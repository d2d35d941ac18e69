import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Figure, ResultFile, Round } from '../method/contract.ts'
import { choose, type Named } from './choose.ts'
import { pageOf } from './page.ts'
import { pagePath, resultsFolder } from './places.ts'
import { readResults } from './read.ts'
import { rowsOf } from './rows.ts'
import { groups, type Target } from './targets.ts'

const target = groups.flatMap(({ targets }) => targets).find(({ id }) => id === 'A1') as Target
const figure: Figure = {
  id: 'A1',
  title: 'reads',
  measure: 'rate',
  side: 'ours',
  peer: 'fastify',
  target: { ratioAtLeast: 0.7 },
  limitedBy: 'its statements',
  wouldReach: 'one statement',
}

function round(side: string, number: number, rate: number): Round {
  return {
    side,
    round: number,
    at: '2026-01-02T03:04:05.000Z',
    seen: { rate },
    loadBefore: 0.1,
    clientBusy: 0.2,
    noisy: [],
  }
}

/** Three rounds in which the peer answers 1,000 and we so many of them. */
function result(ours: readonly number[], more: Partial<ResultFile> = {}): ResultFile {
  return {
    format: 1,
    bench: 'api',
    startedAt: '2026-01-02T03:04:05.000Z',
    seconds: 400,
    commit: '0123456789ab',
    machine: { processor: 'Example', cores: 2, memoryBytes: 8 * 2 ** 30, kernel: '6.1', node: 'v20.20.2' },
    quick: false,
    noisy: [],
    peers: [{ name: 'fastify', version: '5', configuration: 'bare | raw' }],
    measures: [{ name: 'rate', unit: 'per second', digits: 0 }],
    figures: [figure],
    rounds: ours.flatMap((rate, at) => [round('ours', at + 1, rate), round('fastify', at + 1, 1_000)]),
    ...more,
  }
}

const named = (one: ResultFile, file = `api-${one.startedAt.slice(0, 10)}.json`): Named => ({
  file,
  result: one,
})
const rowsFor = (...results: ResultFile[]) => rowsOf(target, choose(results.map((one) => named(one))))

test('a figure tells its median with what it ranged over, beside its peer and its target', () => {
  expect(rowsFor(result([700, 900, 800]))).toEqual([
    {
      id: 'A1',
      figure: 'reads',
      seen: '800/s (700–900)',
      ratio: '0.80× (0.70–0.90) fastify',
      target: '≥ 0.7× fastify',
      verdict: 'met',
      limitedBy: 'its statements',
      wouldReach: 'reached',
    },
  ])
})

test('one that misses its target says what would reach it', () => {
  expect(rowsFor(result([690, 690, 710]))).toMatchObject([
    { verdict: 'not met', wouldReach: 'one statement' },
  ])
})

test('nothing is claimed from a disturbed run, however good it looks', () => {
  const [row] = rowsFor(result([900, 900, 900], { noisy: ['the machine was busy'] }))
  expect(row).toMatchObject({ verdict: 'not claimed', wouldReach: 'one statement' })
})

test('one of which nobody knows what would reach its target says so only where it misses it', () => {
  const { wouldReach: _, ...unknown } = figure
  const figures = [unknown]
  expect(rowsFor(result([800], { figures }))).toMatchObject([{ wouldReach: 'reached' }])
  expect(rowsFor(result([600], { figures }))).toMatchObject([{ wouldReach: 'not looked into' }])
})

test('a ratio to a peer that did not run is not judged', () => {
  const peers = [{ name: 'fastify', configuration: 'bare', skipped: 'it is not installed' }]
  const alone = [round('ours', 1, 800)]
  expect(rowsFor(result([], { peers, rounds: alone }))).toMatchObject([
    { verdict: 'not judged', seen: '800/s', ratio: 'no fastify: it is not installed' },
  ])
})

test('what no bench measures is listed as such, with what is asked of it', () => {
  expect(rowsFor()).toMatchObject([{ id: 'A1', verdict: 'not measured', target: target.asked, seen: '' }])
  // A quick run is none.
  expect(rowsFor(result([900], { quick: true }))).toMatchObject([{ verdict: 'not measured' }])
})

test('the newest quiet full run counts, not a later one that was disturbed or quick', () => {
  const old = named(result([700], { startedAt: '2026-01-01T00:00:00.000Z' }))
  const quiet = named(result([800], { startedAt: '2026-01-02T00:00:00.000Z' }))
  const noisy = named(result([900], { startedAt: '2026-01-03T00:00:00.000Z', noisy: ['busy'] }))
  const quick = named(result([950], { startedAt: '2026-01-04T00:00:00.000Z', quick: true }))
  expect(choose([noisy, old, quick, quiet])).toEqual([
    { bench: 'api', run: quiet, passedOver: [quick, noisy] },
  ])
  // Where none was quiet, the newest full one is shown, and nothing claimed from it.
  expect(choose([quick, noisy])[0]?.run).toBe(noisy)
})

test('the page says which runs nothing is taken from, and why', () => {
  const page = pageOf([
    named(result([800, 800, 800])),
    named(
      result([900], { startedAt: '2026-02-01T00:00:00.000Z', quick: true, noisy: ['busy', 'loud'] }),
      'later.json',
    ),
  ])
  expect(page).toContain('- `later.json`: quick, and 2 more such')
  expect(page).toMatch(/\| A1 \| reads \| 800\/s \(800–800\) \|.*\| met \|/)
  expect(page).toContain('1 meets its target, 0 do not')
  expect(page).toContain('bare \\| raw')
  expect(page).toContain('0123456789ab')
  expect(page).toMatch(/\| A5 \|.*\| not measured \|/)
})

test('the same results make the same page, in whatever order they are read', () => {
  const some = [
    named(result([800])),
    named(result([500], { bench: 'list' }), 'list.json'),
    named(result([700], { startedAt: '2025-01-01T00:00:00.000Z' }), 'older.json'),
  ]
  expect(pageOf(some.toReversed())).toBe(pageOf(some))
})

test('without results nothing is claimed, and every target is on the page', () => {
  const page = pageOf([])
  expect(page).toContain('Nothing has been claimed yet')
  for (const { id } of groups.flatMap(({ targets }) => targets)) expect(page).toContain(`| ${id} |`)
})

test('a file that is no result is named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-report-'))
  try {
    writeFileSync(join(folder, 'odd.json'), '{"format": 2}')
    expect(() => readResults(folder)).toThrow('odd.json is of format 2, not 1')
    expect(readResults(join(folder, 'absent'))).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('docs/performance.md is what the results make: npm run bench -- report', () => {
  expect(readFileSync(pagePath, 'utf8')).toBe(pageOf(readResults(resultsFolder)))
})
