import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../eventually.ts'
import { TestGateway } from '../gateway.ts'
import { agentOf, brokenAgent } from './build.ts'
import { type OfferInput, offerOf, publicKeyOf } from './offers.ts'
import { FileHost } from './file-host.ts'
import { Machine, sha256 } from './machine.ts'

const [one, two] = [await agentOf('1.0.0'), await agentOf('2.0.0')]
const stranger = generateKeyPairSync('ed25519').privateKey
let gateway: TestGateway
let host: FileHost
let machine: Machine

beforeEach(async () => {
  ;[gateway, host] = [await TestGateway.open(), await FileHost.open()]
  gateway.releaseKeys = [publicKeyOf()]
  machine = new Machine(one, { SVC_API: gateway.api })
})
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.log(machine.log)
  await machine.close()
  await gateway.close()
  host.close()
})

const peer = () => gateway.peer
const phases = () =>
  peer()
    .of('updateStatus')
    .map(({ phase, reason }) => svc.v1.UpdatePhase[phase ?? 0] + (reason ? ` ${reason}` : ''))
const versions = () =>
  peer()
    .of('heartbeat')
    .map(({ agentVersion }) => agentVersion)
const offer = (input: Partial<OfferInput> = {}) =>
  peer().say({ updateOffer: offerOf({ version: '2.0.0', bytes: two, url: host.url, ...input }) })
/** Until it has sent a heartbeat. */
const starts = async (env: NodeJS.ProcessEnv = {}) => {
  const before = gateway.peers.size > 0 ? versions().length : 0
  machine.start(env)
  await eventually(() => gateway.peers.size > 0 && versions().length).toBeGreaterThan(before)
}

it('becomes the version that it is offered, and says each step', async () => {
  gateway.heartbeatIntervalMs = 60_000
  host.whole(two)
  machine.start()
  await eventually(() => gateway.peers.size && peer().of('hello').length).toBe(1)
  expect(machine.runningHash).toBe(sha256(one))
  const before = machine.agentPid
  offer()
  await eventually(() => phases().at(-1)).toBe('DONE')
  expect(phases()).toEqual(['DOWNLOADING', 'VERIFYING', 'BACKING_UP', 'SWAPPING', 'RESTARTING', 'DONE'])
  expect(machine.runningHash).toBe(sha256(two))
  expect(machine.agentPid).not.toBe(before)
  expect(peer().of('hello').at(-1)).toMatchObject({ agentVersion: '2.0.0', watchdogVersion: '1.0.0' })
  // The interval is a minute: this one waited for nothing.
  await eventually(() => versions().at(-1)).toBe('2.0.0')
  expect(peer().of('goodbye')).toEqual([])
  gateway.heartbeatIntervalMs = 200
  await machine.stop()
  machine.start()
  await eventually(() => readdirSync(machine.stateDir)).not.toContain('update.json')
  expect(machine.runningHash).toBe(sha256(two))
})

it('stays what it is and says why, whatever is wrong with what it is offered', async () => {
  await starts()
  const pid = machine.agentPid
  let sequence = 5
  /** Offers what nothing else is wrong with; what was said to that. */
  const answer = async (input: Partial<OfferInput>) => {
    const said = phases().length
    sequence += 1
    offer({ version: `2.0.${sequence}`, sequence, ...input })
    await eventually(() => phases().slice(said).join()).toContain('UPDATE_FAILED')
    return phases().at(-1)
  }
  host.whole(Buffer.from('another file'.padEnd(two.length)))
  expect(await answer({})).toBe('UPDATE_FAILED bad_hash')
  host.whole(Buffer.concat([two, Buffer.from('!')]))
  expect(await answer({})).toBe('UPDATE_FAILED bad_size')
  host.endless()
  expect(await answer({})).toBe('UPDATE_FAILED bad_size')
  host.truncates(two)
  expect(await answer({})).toBe('UPDATE_FAILED download_failed')
  host.serve = (response) => void response.writeHead(503).end()
  expect(await answer({})).toBe('UPDATE_FAILED download_failed')
  expect(await answer({ url: 'file:///etc/passwd' })).toBe('UPDATE_FAILED download_failed')
  const asked = host.asked
  host.whole(two)
  expect(await answer({ key: stranger })).toBe('UPDATE_FAILED unknown_key')
  expect(await answer({ sequence: 5 })).toBe('UPDATE_FAILED older_sequence')
  expect(await answer({ expiresAt: new Date(Date.now() - 1_000) })).toBe('UPDATE_FAILED expired')
  expect(await answer({ version: '0.9.9' })).toBe('UPDATE_FAILED not_newer')
  expect(host.asked).toBe(asked)
  expect(machine.agentPid).toBe(pid)
  expect(machine.runningHash).toBe(sha256(one))
  expect(readdirSync(join(machine.stateDir, 'bin')).toSorted()).toEqual(['svc-agent'])
  await machine.stop()
  await starts()
  // The sequence was kept.
  expect(await answer({ sequence: 5 })).toBe('UPDATE_FAILED older_sequence')
})

it('goes back to the version before when the new one ends at its start, and leaves that one alone', async () => {
  const broken = brokenAgent('2.0.0')
  await starts()
  host.whole(broken)
  offer({ bytes: broken })
  await eventually(() => phases().at(-1)).toBe('ROLLED_BACK exit_at_start')
  expect(machine.runningHash).toBe(sha256(one))
  expect(versions().at(-1)).toBe('1.0.0')
  expect(peer().of('updateStatus').at(-1)).toMatchObject({ fromVersion: '1.0.0', toVersion: '2.0.0' })
  const asked = host.asked
  offer({ bytes: broken, sequence: 2 })
  await eventually(() => machine.log).toContain('2.0.0 rests until')
  expect(host.asked).toBe(asked)
  host.whole(two)
  offer({ sequence: 3 })
  await eventually(() => phases().at(-1)).toBe('DONE')
  expect(machine.runningHash).toBe(sha256(two))
})

it('goes back to the version before when the new one does not reach the server', async () => {
  await starts({ CONTACT_WITHIN: '2' })
  host.whole(two)
  offer()
  await eventually(() => phases().at(-1)).toBe('RESTARTING')
  gateway.welcomes = false
  await eventually(() => machine.log).toContain('gives way')
  gateway.welcomes = true
  await eventually(() => phases().at(-1)).toBe('ROLLED_BACK no_contact')
  expect(machine.runningHash).toBe(sha256(one))
})

it('refuses every update once that is switched off, also after a restart', async () => {
  await starts()
  peer().say({ configUpdate: { version: 7, autoUpdate: false } })
  await eventually(() => peer().of('heartbeat').at(-1)?.configVersion).toBe(7)
  await machine.stop()
  host.whole(two)
  await starts()
  expect(peer().of('heartbeat').at(-1)?.configVersion).toBe(7)
  offer()
  await eventually(() => machine.log).toContain('updates are switched off')
  expect([phases(), host.asked]).toEqual([[], 0])
  peer().say({ configUpdate: { version: 8, autoUpdate: true } })
  await eventually(() => peer().of('heartbeat').at(-1)?.configVersion).toBe(8)
  offer()
  await eventually(() => phases().at(-1)).toBe('DONE')
})

it('lets a running command end before it makes way', async () => {
  await starts()
  host.whole(two)
  const script = peer().script('sleep 1; echo done')
  await eventually(() => peer().of('commandProgress').length).toBe(1)
  offer()
  await eventually(() => phases().at(-1)).toBe('DONE')
  const [result] = peer().results(script)
  expect(Buffer.from(result?.stdout?.data ?? []).toString()).toBe('done\n')
  expect(result?.outcome).toBe(svc.v1.Outcome.SUCCEEDED)
})

it('replaces the helper beside it without a restart', async () => {
  await starts()
  const helper = join(machine.stateDir, 'bin/svc-helper')
  writeFileSync(helper, 'old', { mode: 0o755 })
  writeFileSync(join(machine.stateDir, 'HELPER_VERSION'), '1.0.0\n')
  await machine.stop()
  await starts()
  await eventually(() => peer().of('heartbeat').at(-1)?.helperVersion).toBe('1.0.0')
  const pid = machine.agentPid
  host.whole(Buffer.from('new'))
  peer().say({
    updateOffer: {
      ...offerOf({ version: '1.1.0', bytes: Buffer.from('new'), url: host.url }),
      component: 'helper',
    },
  })
  await eventually(() => peer().of('heartbeat').at(-1)?.helperVersion).toBe('1.1.0')
  expect(phases().at(-1)).toBe('DONE')
  expect([readFileSync(helper, 'utf8'), readFileSync(`${helper}.previous`, 'utf8')]).toEqual(['new', 'old'])
  expect(machine.agentPid).toBe(pid)
})
