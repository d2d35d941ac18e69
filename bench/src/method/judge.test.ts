import { describe, expect, it } from 'vitest'
import type { Figure, ResultFile, Round } from './contract.ts'
import { judge, missing } from './judge.ts'
import { tableOf } from './table.ts'

const round = (side: string, number: number, value: number): Round => ({
  side,
  round: number,
  at: '2026-12-01T00:00:00.000Z',
  seen: { cost: value },
  loadBefore: 0,
  clientBusy: 0,
  noisy: [],
})
const figure = (target: Figure['target'], peer?: string): Figure => ({
  id: 'G9',
  title: 'what it costs',
  measure: 'cost',
  side: 'ours',
  ...(peer && { peer }),
  target,
  limitedBy: '',
  wouldReach: '',
})
const rounds = [round('ours', 1, 10), round('theirs', 1, 40), round('ours', 2, 12), round('theirs', 2, 40)]

describe('a figure', () => {
  it.each<[Figure['target'], boolean | undefined]>([
    [{ atMost: 11 }, true],
    [{ atMost: 10 }, false],
    [{ atLeast: 11 }, true],
    [{ atLeast: 12 }, false],
    [{ ratioAtMost: 0.28 }, true],
    [{ ratioAtMost: 0.27 }, false],
    [{ ratioAtLeast: 0.27 }, true],
    [{ atMost: 11, ratioAtMost: 0.1 }, false],
    [{}, undefined],
  ])('is held against its target by the medians: %o', (target, reached) => {
    expect(judge(figure(target, 'theirs'), rounds).reached).toBe(reached)
  })

  it('is not judged by a peer that was not there', () => {
    const ours = rounds.filter(({ side }) => side === 'ours')
    expect(judge(figure({ ratioAtMost: 0.1 }, 'theirs'), ours)).toMatchObject({
      ratio: undefined,
      reached: undefined,
    })
    expect(judge(figure({ atMost: 11, ratioAtMost: 0.1 }, 'theirs'), ours).reached).toBe(true)
  })

  it('is missed when its side was not seen, and when its peer was not but for one that was skipped', () => {
    const ours = rounds.filter(({ side }) => side === 'ours')
    const figures = [figure({ ratioAtMost: 1 }, 'theirs:websocket')]
    const skipped = [{ name: 'theirs', configuration: '', skipped: 'it is not here' }]
    expect(missing(figures, ours, [])).toEqual(['G9: nothing was seen of theirs:websocket, cost'])
    expect(missing(figures, ours, skipped)).toEqual([])
    expect(missing(figures, [], skipped)).toEqual(['G9: nothing was seen of ours, cost'])
  })
})

describe('the table', () => {
  const result: ResultFile = {
    format: 1,
    bench: 'nine',
    startedAt: '2026-12-01T00:00:00.000Z',
    seconds: 1,
    commit: 'abc',
    machine: { processor: 'x', cores: 2, memoryBytes: 1, kernel: '6', node: 'v20' },
    quick: true,
    noisy: ['it was loud'],
    peers: [{ name: 'others', configuration: '', skipped: 'they are not here' }],
    measures: [{ name: 'cost', unit: 'CPU-µs', digits: 1 }],
    figures: [figure({ atMost: 10.5, ratioAtMost: 0.5 }, 'theirs')],
    rounds,
  }
  const lines = (verdict: string) => [
    '        cost [CPU-µs]',
    'ours    11.0 (10.0–12.0)',
    'theirs  40.0 (40.0–40.0)',
    '',
    'G9  what it costs  11.0 µs (10.0–12.0)  0.28× (0.25–0.30) theirs  ≤ 10.5 µs, ≤ 0.5× theirs  ' + verdict,
    '',
    'skipped: others: they are not here',
  ]

  it('shows sides, figures with their verdicts, and who was skipped', () => {
    const quiet = { ...result, quick: false, noisy: [] }
    expect(tableOf(quiet).split('\n')).toEqual(lines('MISSED'))
  })

  it('claims nothing from a run that was quick or disturbed, and says why', () => {
    const why = ['', 'Nothing is claimed from this run:', '  quick', '  it was loud']
    expect(tableOf(result).split('\n')).toEqual([...lines('not claimed'), ...why])
  })
})
