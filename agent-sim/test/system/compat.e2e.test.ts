import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { baseCommit, hasCommit } from '../../../tools/compat/base.ts'
import { renumberedAgent, talkativeAgent } from '../../../tools/compat/altered.ts'
import { held, hello, hostnames, idle } from './harness/pairs.ts'
import type { Program } from './harness/program.ts'
import { systemTests } from './harness/suite.ts'
import { until } from './harness/until.ts'
import { folderOf, type Meeting, meet, type Version, versions } from './harness/versions.ts'

const base = baseCommit()

/** Nobody believes it: who knows what an offer is says so. */
const update = { component: 'agent', version: '99.0.0', manifest: Buffer.from('{}'), keyId: 'none' }

/** All agents are held there and nowhere else, and each does what it is told. */
async function work(meeting: Meeting, of: Version): Promise<void> {
  await held(meeting, of)
  expect(await idle(meeting)).toEqual([])
}

const meetings = () =>
  describe.each([...versions])('a control plane of %s', (version: Version) => {
    let meeting: Meeting
    const agents = new Map<Version, Program>()
    beforeAll(async () => {
      meeting = await meet(version)
      for (const of of versions) agents.set(of, await meeting.startAgents(of, await folderOf(of)))
    })
    afterAll(() => meeting?.close())

    test('works with a gateway of today and agents of both', async () => {
      await work(meeting, 'today')
    })

    test('works with a gateway of the base, to which agents of both move', async () => {
      meeting.front.leadTo(meeting.gatewayPort.base)
      await work(meeting, 'base')
    })

    test('knows agents that are changed to the other version by their identity', async () => {
      await Promise.all([...agents.values()].map((program) => program.terminate()))
      for (const of of versions) {
        const other = of === 'base' ? 'today' : 'base'
        await meeting.startAgents(of, await folderOf(other))
      }
      await work(meeting, 'base')
      expect([...(await meeting.devices()).keys()].toSorted()).toEqual(hostnames)
    })

    test('lets nobody’s connection end by what only this version says', async () => {
      const before = await meeting.holders('epochs')
      for (const id of (await meeting.devices()).values()) {
        await meeting.taps.base.deliver(id, { updateOffer: update })
        await meeting.taps.base.deliver(id, { configUpdate: { version: 9_000, autoUpdate: true } })
      }
      await work(meeting, 'base')
      expect(await meeting.holders('epochs')).toEqual(before)
    })

    test('answers an exchange that carries batches, and takes them', async () => {
      const batch = svc.v1.UpBatch.encode({ node: 'of-nobody', completeThroughMs: Date.now() }).finish()
      const asked = { node: 'of-nobody', version: '0', up: [{ shard: 3, batch }], busAway: true }
      const answer = await meeting.exchange(asked)
      expect(answer).toMatchObject({ upAccepted: true, messages: [] })
      expect(answer.serverTimeMs).toBeGreaterThan(0)
    })

    test('is found again by agents of both when the gateway that holds them is killed', async () => {
      await meeting.restartGateway('base')
      await work(meeting, 'base')
    })

    // The checks have to see what they are for.
    if (version === 'today') {
      let folder: string
      beforeAll(() => {
        folder = mkdtempSync(join(tmpdir(), 'svc-altered-'))
      })
      afterAll(() => rmSync(folder, { recursive: true, force: true }))

      test('notices an agent that says to the base what it does not know', async () => {
        await talkativeAgent(folder)
        const program = await meeting.startAgents('talkative', folder)
        const theirs = async () =>
          (await meeting.holders('epochs')).filter((one) => one.startsWith('talkative'))
        await until('it is held', async () => (await theirs()).length === 2)
        const before = await theirs()
        for (const [hostname, id] of await meeting.devices())
          if (hostname.startsWith('talkative')) await meeting.taps.base.deliver(id, { updateOffer: update })
        await until('its connections end', async () => (await theirs()).join() !== before.join())
        await program.terminate()
      })

      test('notices a field that was renumbered', async () => {
        await renumberedAgent(folder)
        meeting.front.leadTo(meeting.gatewayPort.today)
        await meeting.startAgents('renumbered', folder)
        expect(await hello(meeting, 'renumbered-WS-00001', 3_000)).not.toBe('hello renumbered-WS-00001')
      })
    }
  })

systemTests('programs of neighbouring versions', () => {
  if (hasCommit(base)) meetings()
  else test.skip(`skipped: needs git history of ${base}`, () => undefined)
})
