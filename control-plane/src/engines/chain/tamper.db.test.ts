import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateKeyPairSync } from 'node:crypto'
import { Registry } from 'prom-client'
import { v7 as uuid } from 'uuid'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { auditRow, writeRows } from '../../../test/harness/audit-rows.ts'
import { modelCheck, modelHash } from '../../../test/harness/chain-model.ts'
import { tamperWorld } from '../../../test/harness/tampering.ts'
import { ChainCheck } from './check.ts'
import { sealAll } from './sealer.ts'
import { lineOf, signHead } from './head.ts'
import { acceptLosses } from './verify/accept.ts'
import { describeVerified } from './verify/describe.ts'
import { finding, Findings, systemChain } from './verify/finding.ts'

const world = await tamperWorld()
const { sql, p1, p2, tamper, sealOf, verify } = world
afterAll(() => world.close())
beforeEach(() => world.restore())

const length = 60 // of p1's chain
const newest = length
/** The first, the newest, one that a head tells of, and any other. */
const some = [1, 20, 2 + Math.floor(Math.random() * (length - 3)), newest]

const findings = async () =>
  (await verify()).findings.map(({ kind, partner, seq, toSeq, rowId }) => ({
    kind,
    partner,
    seq,
    ...(toSeq !== undefined && { toSeq }),
    ...(rowId !== undefined && { rowId }),
  }))

test('what nobody touched is whole, also where the model looks', async () => {
  expect(await verify()).toMatchObject({
    whole: true,
    chains: 3,
    rows: 96,
    heads: 18,
    signatures: true,
    untold: [],
    antedated: [],
    findings: [],
    waiting: { rows: 0 },
  })
  expect(await modelCheck(sql)).toEqual({ wrong: [], seals: 96 })
})

const columns = await sql<{ name: string; type: string; required: boolean }[]>`
  select attname as name, format_type(atttypid, null) as type, attnotnull as required from pg_attribute
  where attrelid = 'svc.audit_log'::regclass and attnum > 0 and not attisdropped and attname <> 'id'`
const others: Record<string, string> = {
  text: `coalesce($ || 'x', 'x')`,
  uuid: `gen_random_uuid()`,
  inet: `'198.51.100.1'::inet`,
  jsonb: `$ || '{"a": {"b": "ä", "bb": "x"}}'`,
  'timestamp with time zone': `$ + interval '1 microsecond'`,
}
/** Where a column takes few values. */
const choices: Record<string, string> = { actor_type: `'device'`, result: `'failure'` }

describe.each(some)('of the row at %i', (seq) => {
  test('a change of any column is found, and a value that is no more, or was not there', async () => {
    const { auditId: rowId } = await sealOf(p1, seq)
    const [row = {}] = await sql<Record<string, unknown>[]>`select * from audit_log where id = ${rowId}`
    for (const { name, type, required } of columns) {
      const changed = choices[name] ?? others[type]?.replaceAll('$', name)
      const none = row[name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())] == null
      for (const value of [changed, ...(required || none ? [] : ['null'])]) {
        await tamper((tx) => tx.unsafe(`update audit_log set ${name} = ${value} where id = '${rowId}'`))
        const found = await findings()
        expect(found, `${name} = ${value}`).toContainEqual({ kind: 'row_changed', partner: p1, seq, rowId })
        // Whose row it says it is now, is told as well.
        expect(found, name).toHaveLength(name === 'partner_id' ? 2 : 1)
        await tamper(async (tx) => {
          await tx`delete from audit_log where id = ${rowId}`
          await tx`insert into audit_log select * from kept_audit_log where id = ${rowId}`
        })
      }
    }
    expect(await findings()).toEqual([])
  })

  test('its removal is found', async () => {
    const { auditId: rowId } = await sealOf(p1, seq)
    await tamper((tx) => tx`delete from audit_log where id = ${rowId}`)
    expect(await findings()).toEqual([{ kind: 'row_removed', partner: p1, seq, rowId }])
  })

  test('its removal with the seal is found, as is the end that it was', async () => {
    const { auditId: rowId } = await sealOf(p1, seq)
    await tamper(async (tx) => {
      await tx`delete from audit_seal where audit_id = ${rowId}`
      await tx`delete from audit_log where id = ${rowId}`
    })
    const kind = seq === newest ? 'tail_truncated' : 'seals_removed'
    expect(await findings()).toEqual([{ kind, partner: p1, seq, toSeq: seq }])
  })

  test('its replacement under another id is found', async () => {
    const { auditId } = await sealOf(p1, seq)
    const rowId = uuid()
    await tamper(async (tx) => {
      await tx`update audit_log set id = ${rowId} where id = ${auditId}`
      await tx`update audit_seal set audit_id = ${rowId} where audit_id = ${auditId}`
    })
    expect(await findings()).toEqual([{ kind: 'row_changed', partner: p1, seq, rowId }])
  })

  test('a seal that was changed is found, and told from its row', async () => {
    const { auditId: rowId } = await sealOf(p1, seq)
    await tamper((tx) => tx`update audit_seal set hash = sha256('x') where audit_id = ${rowId}`)
    const kind = seq === newest ? 'row_changed' : 'seal_changed' // nothing follows the newest that would say so
    const found = await findings()
    expect(found[0]).toEqual({ kind, partner: p1, seq, rowId })
    // It was the end of a round, whose head was told.
    expect(found.slice(1)).toEqual(
      seq % 10 === 0 ? [{ kind: 'chain_rewritten', partner: p1, seq: seq - 9, toSeq: seq }] : [],
    )
  })
})

/** Two places: next to each other, apart, the ends. */
const pairs = [
  [1, newest],
  [31, 32],
  [newest - 1, newest],
  [7, 41],
] as const

describe.each(pairs)('of the rows at %i and %i', (a, b) => {
  test('swapped contents are found', async () => {
    const [{ auditId: first }, { auditId: second }] = [await sealOf(p1, a), await sealOf(p1, b)]
    await tamper(async (tx) => {
      const spare = uuid()
      await tx`update audit_log set id = ${spare} where id = ${first}`
      await tx`update audit_log set id = ${first} where id = ${second}`
      await tx`update audit_log set id = ${second} where id = ${spare}`
    })
    const { findings: found } = await verify()
    expect(found.map(({ kind, seq, rowId }) => ({ kind, seq, rowId }))).toEqual([
      { kind: 'row_exchanged', seq: a, rowId: first },
      { kind: 'row_exchanged', seq: b, rowId: second },
    ])
    expect(found[0]?.what).toContain(`${second} says now`)
  })

  test('swapped places are found', async () => {
    const [{ auditId: first }, { auditId: second }] = [await sealOf(p1, a), await sealOf(p1, b)]
    await tamper(async (tx) => {
      await tx`update audit_seal set seq = 1000 where audit_id = ${first}`
      await tx`update audit_seal set seq = ${a} where audit_id = ${second}`
      await tx`update audit_seal set seq = ${b} where audit_id = ${first}`
    })
    const { findings: found } = await verify()
    const rows = found.filter(({ kind }) => kind === 'row_moved')
    expect(rows.map(({ seq, rowId, what }) => ({ seq, rowId, what }))).toEqual([
      { seq: a, rowId: second, what: `the row was sealed at another place: at ${b}` },
      { seq: b, rowId: first, what: `the row was sealed at another place: at ${a}` },
    ])
    expect(found.filter(({ kind }) => kind !== 'row_moved' && kind !== 'chain_rewritten')).toEqual([])
  })

  test('seals that name each other’s row are found', async () => {
    const [{ auditId: first }, { auditId: second }] = [await sealOf(p1, a), await sealOf(p1, b)]
    await tamper(async (tx) => {
      await tx`update audit_seal set audit_id = ${uuid()} where audit_id = ${first}`
      await tx`update audit_seal set audit_id = ${first} where audit_id = ${second}`
      await tx`update audit_seal set audit_id = ${second} where partner = ${p1} and seq = ${a}`
    })
    expect(await findings()).toEqual([
      { kind: 'row_exchanged', partner: p1, seq: a, rowId: second },
      { kind: 'row_exchanged', partner: p1, seq: b, rowId: first },
    ])
  })
})

test('a forged row is found where it waits for no seal; one that does is sealed as what it is, the last', async () => {
  const row = auditRow(p2, 1)
  const insert = (tx: typeof sql) =>
    tx`insert into audit_log select * from jsonb_populate_record(null::audit_log, ${JSON.stringify(row)}::text::jsonb)`
  await tamper((tx) => insert(tx as unknown as typeof sql))
  expect(await findings()).toEqual([{ kind: 'row_inserted', partner: p2, seq: null, rowId: row.id }])
})

test('a row that was removed while it waited to be sealed is found', async () => {
  const row = auditRow(p1, 1)
  await sql`select write_audit(${JSON.stringify(row)}::text::jsonb)`
  expect(await verify()).toMatchObject({ whole: true, waiting: { rows: 1 } })
  await tamper((tx) => tx`delete from audit_log where id = ${row.id}`)
  expect((await findings()).map(({ kind, rowId }) => [kind, rowId])).toEqual([
    ['row_removed_unsealed', row.id],
  ])
})

test.each([1, 10, 25])('a tail of %i that was cut off is found', async (count) => {
  await tamper(async (tx) => {
    await tx`delete from audit_log a using audit_seal s where s.audit_id = a.id and s.partner = ${p1} and s.seq > ${length - count}`
    await tx`delete from audit_seal where partner = ${p1} and seq > ${length - count}`
  })
  expect(await findings()).toEqual([
    { kind: 'tail_truncated', partner: p1, seq: length - count + 1, toSeq: length },
  ])
  expect(await verify({ heads: [] })).toMatchObject({ whole: true, heads: 0 }) // why heads are told elsewhere
})

test.each([p1, systemChain])('a chain that is gone altogether is found', async (partner) => {
  await tamper(async (tx) => {
    await tx`delete from audit_log a using audit_seal s where s.audit_id = a.id and s.partner = ${partner}`
    await tx`delete from audit_seal where partner = ${partner}`
  })
  expect(await findings()).toMatchObject([{ kind: 'tail_truncated', partner, seq: 1 }])
})

test('another partner’s chain in place of one’s own is found at its first row', async () => {
  const copies = await sql<{ id: string; copy: string }[]>`
    select audit_id as id, gen_random_uuid() as copy from audit_seal where partner = ${p1} and seq <= 24`
  await tamper(async (tx) => {
    await tx`delete from audit_log a using audit_seal s where s.audit_id = a.id and s.partner = ${p2}`
    await tx`delete from audit_seal where partner = ${p2}`
    for (const { id, copy } of copies) {
      await tx`insert into audit_log select (jsonb_populate_record(a, jsonb_build_object('id', ${copy}::text))).* from audit_log a where id = ${id}`
      await tx`insert into audit_seal select ${p2}, seq, ${copy}, hash from audit_seal where audit_id = ${id}`
    }
  })
  const found = await findings()
  expect(found.slice(0, 2).toSorted((x, y) => (x.kind < y.kind ? -1 : 1))).toMatchObject([
    { kind: expect.stringMatching(/row_(changed|foreign)/), partner: p2, seq: 1 },
    { kind: 'row_foreign', partner: p2, seq: 2 },
  ])
  expect(found.filter(({ kind }) => kind === 'row_changed').map(({ seq }) => seq)).toContain(1)
})

/** What somebody would do who knows the format and has the database, but no key. */
async function rebuild(partner: string, from: number, to = length) {
  const rows = await sql<{ seq: number; auditId: string; bytes: string }[]>`
    select s.seq, s.audit_id, svc.audit_text(a) as bytes from audit_seal s join audit_log a on a.id = s.audit_id
    where s.partner = ${partner} order by s.seq`
  let previous = from === 1 ? '0'.repeat(64) : (await sealOf(partner, from - 1)).hash.toString('hex')
  for (const { seq, auditId, bytes } of rows.slice(from - 1, to)) {
    previous = modelHash(partner, seq, previous, bytes)
    await tamper(
      (tx) => tx`update audit_seal set hash = decode(${previous}, 'hex') where audit_id = ${auditId}`,
    )
  }
}

test('a chain that was made anew behind an edit is found between two heads, and is whole without them', async () => {
  const { auditId } = await sealOf(p1, 34)
  await tamper((tx) => tx`update audit_log set action = 'nothing.happened' where id = ${auditId}`)
  await rebuild(p1, 34)
  expect(await verify({ heads: [] })).toMatchObject({ whole: true })
  expect(await findings()).toEqual([{ kind: 'chain_rewritten', partner: p1, seq: 31, toSeq: 40 }])
})

test.each(some)('a row at %i that was changed and sealed anew is found by what follows', async (seq) => {
  const { auditId } = await sealOf(p1, seq)
  await tamper((tx) => tx`update audit_log set action = 'nothing.happened' where id = ${auditId}`)
  await rebuild(p1, seq, seq)
  const found = (await findings()).map(({ kind, seq: at, toSeq }) => [kind, at, toSeq])
  const told = seq % 10 === 0 ? [['chain_rewritten', seq - 9, seq]] : []
  expect(found).toEqual([...(seq === newest ? [] : [['row_changed', seq + 1, undefined]]), ...told])
})

test('what no head tells of is shown: who keeps heads from being told, or gives old ones', async () => {
  const kept = readFileSync(world.headsFile.path)
  await sql`create function no_head() returns trigger language plpgsql as 'begin return null; end'`
  await sql`create trigger no_head before insert on audit_heads_owed for each row execute function no_head()`
  try {
    await world.write(1)
  } finally {
    await sql`drop function no_head cascade`
  }
  const verified = await verify({ partner: p1 })
  expect(verified).toMatchObject({ whole: true, untold: [{ partner: p1, seq: 61, toSeq: 70 }] })
  expect(describeVerified(verified)).toContain(
    `untold      partner ${p1}: none of these heads tells of seq 61 to 70`,
  )
  await world.restore()
  // One that is sealed and not told yet is about to be.
  await sql`insert into audit_heads_owed select partner, seq, hash from audit_seal where partner = ${p1} and seq = 60`
  const lines = kept.toString().trimEnd().split('\n')
  const old = join(world.folder, 'old.jsonl')
  writeFileSync(old, `${lines.slice(0, -3).join('\n')}\n`)
  expect(
    (await verify({ heads: [old] })).untold.map(({ partner, seq, toSeq }) => [partner, seq, toSeq]),
  ).toEqual(expect.arrayContaining([[p2, 21, 24]]))
  expect((await verify({ heads: [old], partner: p1 })).untold).toEqual([])
})

test('a row that claims to be older than those before it is shown, where it came', async () => {
  const hourAgo = { ...auditRow(p1, 0), at: new Date(Date.now() - 3_600_000).toISOString() }
  const told = readFileSync(world.headsFile.path)
  await writeRows(sql, [hourAgo])
  await sealAll(world.deps)
  await world.write(1)
  const verified = await verify({ partner: p1 })
  writeFileSync(world.headsFile.path, told)
  const bySeconds = expect.closeTo(3_540, -2)
  expect(verified).toMatchObject({
    whole: true,
    antedated: [{ partner: p1, seq: 61, rowId: hourAgo.id, bySeconds }],
    antedatedCount: 1,
  })
  expect(describeVerified(verified)).toContain(`antedated   partner ${p1}: seq 61, row ${hourAgo.id}, says`)
})

test.each(['infinity', '-infinity', '294276-12-31', '4713-01-01 BC'])(
  'a time that was set to %s is found like any other',
  async (at) => {
    const { auditId: rowId } = await sealOf(p1, 7)
    await tamper((tx) => tx.unsafe(`update audit_log set at = '${at}' where id = '${rowId}'`))
    expect(await findings()).toEqual([{ kind: 'row_changed', partner: p1, seq: 7, rowId }])
  },
)

test('findings of one kind do not hide another, however many they are', () => {
  const found = new Findings(3)
  for (let seq = 1; seq <= 10; seq++) found.add(finding('row_changed', { partner: p1, seq }))
  found.add(finding('tail_truncated', { partner: p2, seq: 5, toSeq: 9 }))
  expect(found.kept.map(({ kind }) => kind)).toEqual([
    ...Array<string>(3).fill('row_changed'),
    'tail_truncated',
  ])
  expect(found.count).toBe(11)
})

test('heads that somebody else wrote do not count', async () => {
  const { hash } = await sealOf(p1, newest)
  const forged = { id: 'test', ...generateKeyPairSync('ed25519') }
  const head = {
    kind: 'accepted',
    partner: p1,
    seq: 20,
    hash: hash.toString('hex'),
    at: new Date().toISOString(),
  } as const
  const file = join(world.folder, 'forged.jsonl')
  writeFileSync(file, `not json {"auditHead"\n{"auditHead": {}}\n${lineOf(signHead(head, forged))}`)
  expect((await verify({ heads: [file] })).findings).toMatchObject([
    { kind: 'head_forged', partner: p1, seq: 20 },
  ])
})

test('after a restore the loss is told until somebody accepts it, and is shown from then on', async () => {
  const { headsFile } = world
  const kept = readFileSync(headsFile.path)
  await tamper(async (tx) => {
    await tx`delete from audit_log a using audit_seal s where s.audit_id = a.id and s.seq > 8 and s.partner <> ${systemChain}`
    await tx`delete from audit_seal where seq > 8 and partner <> ${systemChain}`
  })
  await world.write(1) // the log goes on, under the same numbers
  const before = await findings()
  expect(before).toEqual(
    expect.arrayContaining([
      { kind: 'chain_rewritten', partner: p1, seq: 1, toSeq: 10 },
      { kind: 'tail_truncated', partner: p1, seq: 19, toSeq: 60 },
    ]),
  )
  const { key, worker } = world
  const asked = { heads: [headsFile.path], keys: [key], key }
  const { lines, losses } = await acceptLosses(worker, asked)
  expect(losses.find(({ partner }) => partner === p1)).toEqual({ partner: p1, seq: 9, told: 60 })
  await headsFile.append(lines)
  const after = await verify()
  expect(after).toMatchObject({
    whole: true,
    accepted: expect.arrayContaining([expect.objectContaining({ partner: p1, seq: 9 })]),
  })
  expect(await acceptLosses(worker, asked)).toEqual({ lines: '', losses: [] })
  // What comes after counts.
  await tamper((tx) => tx`delete from audit_seal where partner = ${p1} and seq = 18`)
  expect((await verify()).findings).toContainEqual(
    expect.objectContaining({ kind: 'tail_truncated', partner: p1, seq: 18 }),
  )
  writeFileSync(headsFile.path, kept)
})

test('the check in the background follows all chains, a few seals at a time, and tells what does not fit', async () => {
  const metrics = new Registry()
  const told: object[] = []
  const log = { error: (details: object) => void told.push(details) }
  const check = new ChainCheck({ db: world.deps.db, metrics, log })
  const shown = async () => /^svc_audit_chain_findings (\d+)$/m.exec(await metrics.metrics())?.[1]
  const round = async () => {
    for (let n = 0; n < 20; n++) await check.run(7)
  }
  await round()
  expect([await shown(), told]).toEqual(['0', []])
  const { auditId } = await sealOf(p1, 33)
  await tamper((tx) => tx`update audit_log set action = 'nothing.happened' where id = ${auditId}`)
  await round()
  expect(Number(await shown())).toBeGreaterThan(0)
  expect(told).toContainEqual({
    count: 1,
    findings: [expect.objectContaining({ kind: 'row_changed', partner: p1, seq: 33, rowId: auditId })],
  })
  await world.restore()
  await round()
  await round()
  expect(await shown()).toBe('0')
})

test('of one partner alone, the others’ faults are not told', async () => {
  const { auditId } = await sealOf(p2, 3)
  await tamper((tx) => tx`delete from audit_log where id = ${auditId}`)
  expect(await verify({ partner: p1 })).toMatchObject({ whole: true, chains: 1, rows: 60 })
  expect(await verify({ partner: p2 })).toMatchObject({ whole: false, findingCount: 1 })
})
