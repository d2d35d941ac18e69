import { describe, expect, test } from 'vitest'
import type { Evidence } from './evidence.ts'
import { judge, linesOf } from './verdict.ts'

const [a, b, c] = ['command-a', 'command-b', 'command-c']
const [d1, d2, org] = ['device-1', 'device-2', 'org-1']

const row = (id: string, deviceId: string, status: string) => ({
  id,
  deviceId,
  orgId: org,
  deviceOrgId: org,
  status,
  content: `echo ${id}\n`,
  stdout: Buffer.from(id),
  finishedAt: new Date(),
})
const states = (commandId: string, ...all: string[]) => all.map((status) => ({ commandId, status, life: 1 }))
const ledger = (commandId: string, deviceId: string, ...all: string[]) =>
  all.map((state) => ({
    deviceId,
    commandId,
    state,
    ...(state === 'received' && { order: { deviceId, orgId: org } }),
  }))

/** Two commands that were accepted and went well, and a third whose caller does not know of it. */
const fine = (): Evidence => ({
  accepted: [
    { id: a, deviceId: d1, stdout: a },
    { id: b, deviceId: d2, stdout: b },
  ],
  asked: [
    { deviceId: d1, content: `echo ${a}\n`, key: 'key-a', told: { id: a } },
    { deviceId: d1, content: `echo ${c}\n`, key: 'key-c', told: 'unknown' },
    { deviceId: d1, content: 'echo never\n', key: 'key-d', told: 'unknown' },
    { deviceId: d2, content: 'echo no\n', key: 'key-e', told: 'refused' },
  ],
  rows: [row(a, d1, 'succeeded'), row(b, d2, 'succeeded'), row(c, d1, 'expired')],
  effects: [
    { commandId: a, deviceId: d1 },
    { commandId: b, deviceId: d2 },
  ],
  states: [
    ...states(a, 'queued', 'delivered', 'running', 'succeeded'),
    ...states(b, 'queued', 'succeeded'),
    ...states(c, 'queued', 'expired'),
  ],
  ledgers: [
    ...ledger(a, d1, 'received', 'started', 'finished', 'acked'),
    ...ledger(b, d2, 'received', 'started', 'finished'),
  ],
  records: [a, b, c].map((id) => ({ commandId: id, deviceId: id === b ? d2 : d1, orgId: org })),
  remembered: [
    { key: 'key-a', commandId: a },
    { key: 'key-c', commandId: c },
  ],
  brokenSeals: [],
  unsealed: 0,
})

test('what is right is found right', () => {
  expect(linesOf(judge(fine()))).toEqual([])
})

test('what a restored database asks about again did not go back', () => {
  const again = states(a, 'queued', 'delivered').concat({ commandId: a, status: 'queued', life: 2 })
  const evidence = {
    ...fine(),
    states: [...again, ...states(a, 'succeeded').map((one) => ({ ...one, life: 2 }))],
  }
  expect(judge(evidence).e).toEqual([])
})

/** What is planted into evidence that is right, and how it is told. */
const planted: [keyof ReturnType<typeof judge>, string, (right: Evidence) => Partial<Evidence>, RegExp][] = [
  [
    'a',
    'an accepted command is lost',
    ({ rows }) => ({ rows: rows.slice(1) }),
    /command-a was accepted and is lost/,
  ],
  [
    'b',
    'an effect twice',
    ({ effects }) => ({ effects: [...effects, ...effects] }),
    /command-a ran 2 times, not 1/,
  ],
  [
    'b',
    'success without an effect',
    ({ effects }) => ({ effects: effects.slice(1) }),
    /command-a ran 0 times, not 1/,
  ],
  [
    'b',
    'an effect of what nobody was certain of, twice',
    ({ effects }) => ({ effects: [...effects, ...[1, 2].map(() => ({ commandId: c, deviceId: d1 }))] }),
    /command-c ran 2 times and is expired/,
  ],
  [
    'b',
    'an effect of a command that nobody asked for',
    ({ effects }) => ({ effects: [...effects, { commandId: 'forged', deviceId: d1 }] }),
    /forged ran and nobody had asked for it/,
  ],
  [
    'b',
    'a command that nobody was told of',
    ({ rows }) => ({ rows: [...rows, row('more', d1, 'succeeded')] }),
    /more exists and nobody was told of it/,
  ],
  [
    'c',
    'an effect on another device',
    ({ effects }) => ({ effects: effects.map((one) => ({ ...one, deviceId: d2 })) }),
    /command-a ran on another device/,
  ],
  [
    'c',
    'a command of another device than was asked for',
    ({ rows }) => ({ rows: rows.map((one) => ({ ...one, deviceId: d2 })) }),
    /command-a is for another device/,
  ],
  [
    'c',
    'a command of another organization',
    ({ rows }) => ({ rows: rows.map((one) => ({ ...one, orgId: 'org-2' })) }),
    /command-a is another organization's/,
  ],
  [
    'c',
    'an order in a ledger for another device',
    ({ ledgers }) => ({
      ledgers: [...ledgers, ...ledger(b, d2, 'received')].map((one) => ({ ...one, deviceId: d1 })),
    }),
    /command-b in the ledger of device-1 is for device-2/,
  ],
  [
    'c',
    'an order in a ledger of another organization',
    ({ ledgers }) => ({
      ledgers: ledgers.map((one) => ({ ...one, order: { deviceId: one.deviceId, orgId: 'org-2' } })),
    }),
    /command-a in the ledger of device-1 is of the organization org-2/,
  ],
  [
    'd',
    'no end',
    ({ rows }) => ({ rows: rows.map((one) => ({ ...one, status: 'running', finishedAt: null })) }),
    /command-a is running and has no end/,
  ],
  [
    'e',
    'a final state that was left',
    ({ states: all }) => ({ states: [...all, ...states(a, 'failed')] }),
    /command-a was succeeded and became failed/,
  ],
  [
    'e',
    'a state that fell in the same life',
    () => ({ states: states(a, 'queued', 'delivered', 'queued', 'succeeded') }),
    /command-a was delivered and became queued/,
  ],
  [
    'e',
    'a ledger that started twice',
    ({ ledgers }) => ({ ledgers: [...ledgers, ...ledger(a, d1, 'started')] }),
    /the ledger of device-1 says started of command-a after what comes later/,
  ],
  ['f', 'a broken chain', () => ({ brokenSeals: ['partner 7'] }), /the chain does not hold at partner 7/],
  ['f', 'rows without a seal', () => ({ unsealed: 2 }), /2 rows of the audit log are not sealed/],
  ['f', 'no record', ({ records }) => ({ records: records.slice(1) }), /command-a has 0 records/],
  ['f', 'two records', ({ records }) => ({ records: [...records, ...records] }), /command-a has 2 records/],
  [
    'f',
    'a record of what is not there',
    ({ records }) => ({ records: [...records, { commandId: 'ghost', deviceId: d1, orgId: org }] }),
    /tells of command ghost, which does not exist/,
  ],
  [
    'g',
    'a request that was made twice',
    ({ rows }) => ({ rows: [...rows, { ...row('twin', d1, 'succeeded'), content: `echo ${c}\n` }] }),
    /the request for "echo command-c" exists 2 times/,
  ],
  [
    'g',
    'a refused request that was carried out',
    ({ rows }) => ({ rows: [...rows, { ...row('done', d2, 'succeeded'), content: 'echo no\n' }] }),
    /was refused and is command done/,
  ],
  [
    'g',
    'an id that another command has',
    ({ rows }) => ({ rows: rows.map((one) => (one.id === a ? { ...one, id: 'other' } : one)) }),
    /was accepted as command-a and is other/,
  ],
  [
    'g',
    'a command whose key is forgotten',
    () => ({ remembered: [{ key: 'key-a', commandId: a }] }),
    /the key of the request for "echo command-c" answers undefined, and there is command-c/,
  ],
  [
    'g',
    'a key that answers with what is not there',
    ({ remembered }) => ({ remembered: [...remembered, { key: 'key-d', commandId: 'gone' }] }),
    /answers gone, and there is no command/,
  ],
  [
    'end',
    'another end',
    ({ rows }) => ({ rows: rows.map((one) => ({ ...one, status: 'failed' })) }),
    /command-a is failed, not succeeded/,
  ],
  [
    'end',
    'another’s output',
    ({ rows }) => ({ rows: rows.map((one) => ({ ...one, stdout: Buffer.from('theirs') })) }),
    /command-a printed "theirs", not "command-a"/,
  ],
]

describe('the checker finds', () => {
  test.each(planted)('(%s) %s', (name, _what, plant, told) => {
    const right = fine()
    const verdict = judge({ ...right, ...plant(right) })
    expect(verdict[name].join('\n')).toMatch(told)
  })

  test('more than once in a ledger whose commands may end in several ways', () => {
    const right = fine()
    const accepted = [{ id: a, deviceId: d1, mayEnd: ['interrupted'] }]
    const interrupted = { ...row(a, d1, 'interrupted'), stdout: null }
    const evidence = {
      ...right,
      accepted,
      rows: [interrupted],
      asked: [],
      records: right.records.slice(0, 1),
    }
    const effect = { commandId: a, deviceId: d1 }
    const found = (effects: (typeof effect)[]) => judge({ ...evidence, effects })
    expect(linesOf(found([]))).toEqual([])
    expect(linesOf(found([effect]))).toEqual([])
    expect(found([effect, effect]).b).toEqual([`command ${a} ran 2 times and is interrupted`])
  })
})
