import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemTests } from '../harness/suite.ts'
import { kindNames } from '../../../../control-plane/test/contract/secrets/kinds.ts'
import { type Left, type SinkName, sinkNames, useEverything } from './run.ts'
import { type Finding, type Piece, Search } from './search.ts'
import { textPiece } from './sinks.ts'

/** What may be found, and why. Anything else is a fault of the product. */
const allowed: { sink: SinkName; kind: string; where: RegExp; why: string }[] = [
  {
    sink: 'files of agents',
    kind: 'device token',
    where: /^identities\.jsonl$/,
    why: 'the agents’ own credentials, in a file that only their user reads; its mode is looked at below',
  },
]

/** Others are bytes, and no log has those. */
const isText = (secret: Buffer) => secret.every((byte) => byte < 0x80)

systemTests('secrets that are used', () => {
  let left: Left
  let search: Search
  let found: Record<SinkName, Finding[]>

  beforeAll(async () => {
    left = await useEverything()
    search = new Search(left.stage.canaries)
    found = Object.fromEntries(sinkNames.map((name) => [name, search.in(left.sinks[name])])) as typeof found
  })
  afterAll(async () => {
    await left?.fleet.program.kill()
    await left?.stage.close()
  })

  test('were of every kind', () => {
    const { all, digits } = left.stage.canaries
    const used = new Set([...all, ...digits].map(({ kind }) => kind))
    expect(kindNames.filter((kind) => !used.has(kind))).toEqual([])
  })

  test.each(sinkNames)('%s: there is something to look through', (name) => {
    const bytes = left.sinks[name].reduce((sum, piece) => sum + piece.bytes.length, 0)
    expect(bytes).toBeGreaterThan(left.sinks[name].length * 4)
  })

  test('what was to go wrong went wrong, and programs told of it', () => {
    const log = left.sinks['logs of programs'].map(({ bytes }) => bytes.toString()).join('\n')
    for (const line of [
      '"msg":"request"',
      '"msg":"a request failed"',
      '"msg":"a job failed for good"',
      '"msg":"redis, for rate limits"',
      'client error',
      'WRONGPASS',
      'ECONNREFUSED',
      '[withheld]',
    ])
      expect(log).toContain(line)
    const tables = left.sinks.database.map(({ where }) => where)
    expect(tables).toEqual(
      expect.arrayContaining(['svc.users', 'svc.audit_log', 'graphile_worker._private_jobs']),
    )
    expect(left.sinks['log of the database'][0]?.bytes.toString()).toMatch(
      /execute .*: .*[^]*parameters: \$1 = '/i,
    )
    expect(left.sinks['what was said to Redis'][0]?.bytes.toString('latin1')).toMatch(/"publish"|"PUBLISH"/)
  })

  test.each(sinkNames)('%s: holds none of them', (name) => {
    const isAllowed = ({ kind, where }: Finding) =>
      allowed.some((one) => one.sink === name && one.kind === kind && one.where.test(where))
    expect(found[name].filter((finding) => !isAllowed(finding))).toEqual([])
  })

  test('a code of six digits that nobody used lives ten minutes at most', () => {
    expect(left.codesLive.length).toBeGreaterThan(0)
    expect(Math.max(...left.codesLive)).toBeLessThanOrEqual(600)
  })

  test('each exception is needed', () => {
    for (const { sink, kind, where } of allowed)
      expect(found[sink].filter((finding) => finding.kind === kind && where.test(finding.where))).not.toEqual(
        [],
      )
    const files = left.sinks['files of agents'] as (Piece & { mode: number })[]
    expect(files.filter(({ where }) => where === 'identities.jsonl').map(({ mode }) => mode)).toEqual([0o600])
  })

  test('each secret would be found in a row, in a stream and in a file', () => {
    const { all, digits } = left.stage.canaries
    const wanted = new Set(
      [...all, ...digits.map(({ kind }) => ({ kind, what: 'six digits' }))].map(
        ({ kind, what }) => `${kind}, ${what}`,
      ),
    )
    for (const [sink, pieces] of Object.entries(left.planted)) {
      const seen = new Set(search.in(pieces).map(({ kind, what }) => `${kind}, ${what}`))
      expect(
        [...wanted].filter((name) => !seen.has(name)),
        sink,
      ).toEqual([])
    }
  })

  test('each secret would be found in a line of a log, by itself', () => {
    const { all } = left.stage.canaries
    for (const { kind, what, secret } of all) {
      const value = secret.toString(isText(secret) ? 'latin1' : 'base64')
      const line = JSON.stringify({ level: 50, err: { config: JSON.stringify({ value }) } })
      expect(search.in([textPiece('log', line)]), `${kind}, ${what}`).toContainEqual(
        expect.objectContaining({ kind }),
      )
    }
  })

  test('without the guard that cuts errors down, the log of the API has the password of Redis', () => {
    expect(search.in([textPiece('API', left.unguardedLog)])).toContainEqual(
      expect.objectContaining({ kind: 'Redis password', what: 'that is wrong, without errors_cut_down' }),
    )
  })
})
