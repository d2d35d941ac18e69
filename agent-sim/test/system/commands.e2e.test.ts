import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as cancels from './commands/cancels.ts'
import { betweenLedgerAndReport } from './commands/crashes.ts'
import * as forgery from './commands/forgery.ts'
import * as keys from './commands/keys.ts'
import { stuckLanes } from './commands/lanes.ts'
import * as outputs from './commands/outputs.ts'
import * as reports from './commands/reports.ts'
import { graceMs, Stage } from './commands/stage.ts'
import { systemTests } from './harness/suite.ts'

/** What hangs on chance is tried so often: a few times here, a thousand in the long form (CONTRIBUTING). */
const rounds = Number(process.env['COMMAND_ROUNDS'] ?? 3)
/** Beyond what a few rounds take. */
const patienceMs = 120_000 + 2_000 * rounds

systemTests('commands, from whoever asks to whoever carries them out', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open()
  })
  afterAll(() => stage?.close())

  const vias = ['websocket', 'mqtt'] as const

  test('what is forged, for another device, replayed or expired on the bus is refused by every agent, and counted', () =>
    forgery.forgedOnTheBus(stage))

  describe('each on devices of its own, at the same time', { timeout: patienceMs }, () => {
    const each = test.concurrent
    each('a forged frame changes nothing of the command that it names', () => forgery.forgedInItsName(stage))
    each('a stuck lane holds up no other, and none has more in flight than it may', () =>
      stuckLanes(stage, stage.crowd.ids.slice(3, 5)),
    )
    each('cancelled while it is queued: never offered', () => cancels.whileQueued(stage))
    each.each(vias)('cancelled while it is offered, over %s', (via) => cancels.whileOffered(stage, via))
    each.each(vias)('cancelled while it is delivered, over %s', (via) => cancels.whileDelivered(stage, via))
    each.each(vias)('cancelled while its device is away, over %s', (via) => cancels.whileAway(stage, via))
    each('cancelled while it runs, on every kind of agent, and after its end', () =>
      cancels.whileRunning(stage),
    )
    each('cancel and result race: the first decides, the other is on record', () =>
      cancels.racing(stage, rounds),
    )
    each.each(vias)('reports three times each and in any order, over %s', (via) =>
      reports.shuffledReports(stage, via, rounds, 7),
    )
    each.each(vias)('reports that come an hour late, over %s', (via) => reports.anHourLate(stage, via))
    each('a report about another’s command', () => reports.saidByAnother(stage))
    each.each(vias)('offered again when its lease is over, and never after its expiry, over %s', (via) =>
      reports.leases(stage, via),
    )
    each.each(vias)('a device that falls silent amid a command, over %s', (via) =>
      reports.silence(stage, via, graceMs),
    )
    each('fifty requests at once with one key, at two control planes', () =>
      keys.fiftyAtOnce(stage, stage.crowd.ids[0] ?? ''),
    )
    each('a key is good for a day', () => keys.aDay(stage, stage.crowd.ids[1] ?? ''))
    each('output in whatever bytes, through a real shell', () => outputs.throughTheShell(stage))
    each('twenty megabytes of output', () => outputs.twentyMegabytes(stage))
    each.each(vias)('output that no decent agent says, over %s', (via) => outputs.fromBadAgents(stage, via))
  })

  test('an agent that dies between its ledger and its report reports what ran as interrupted, and runs nothing twice', () =>
    betweenLedgerAndReport(stage))

  test('a control plane that dies between its commit and its answer has made one command', () =>
    keys.crashBeforeTheAnswer(stage, stage.crowd.ids[2] ?? ''))

  test('all of it was carried out as it must be; and what is not would be seen', async () => {
    await expect.poll(() => stage.broken(), { timeout: 30_000, interval: 500 }).toEqual([])
    const obeyed = await forgery.signedByItsKey(stage)
    const [victim] = stage.accepted
    await stage.system.sql`update commands set status = 'failed' where id = ${victim?.id ?? ''}`
    await stage.system
      .sql`update audit_log set user_agent = 'another' where details ->> 'commandId' = ${victim?.id ?? ''}`
    await stage.system.sql`delete from idempotency`
    const lines = await stage.broken()
    const seen = (line: RegExp) => expect(lines).toContainEqual(expect.stringMatching(line))
    seen(new RegExp(`^\\(b\\) command ${obeyed} ran and nobody had asked for it`))
    seen(/^\(e\) command .* was succeeded and became failed/)
    seen(/^\(f\) the chain does not hold at/)
    seen(/^\(g\) the key of the request for .* answers undefined/)
    seen(/^\(end\) command .* is failed, not succeeded/)
  })
})
