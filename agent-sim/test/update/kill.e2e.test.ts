import { svc } from '@svc/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isAlive } from '../../../tools/services/abandoned.ts'
import { eventually } from '../eventually.ts'
import { TestGateway } from '../gateway.ts'
import { agentOf, brokenAgent } from './build.ts'
import { offerOf, publicKeyOf } from './offers.ts'
import { FileHost } from './file-host.ts'
import { Machine, sha256 } from './machine.ts'

const [one, two] = [await agentOf('1.0.0'), await agentOf('2.0.0')]
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

const statuses = () =>
  gateway.peer
    .of('updateStatus')
    .map(({ phase, reason }) => svc.v1.UpdatePhase[phase ?? 0] + (reason ? ` ${reason}` : ''))
const beats = () => (gateway.peers.size > 0 ? gateway.peer.of('heartbeat') : [])

async function offered(env: NodeJS.ProcessEnv, bytes = two): Promise<void> {
  machine.start(env)
  await eventually(() => beats().length).toBeGreaterThan(0)
  gateway.peer.say({ updateOffer: offerOf({ version: '2.0.0', bytes, url: host.url }) })
}

const gone = async () => {
  await eventually(() => machine.isLaunched).toBe(false)
  await eventually(() => machine.agentPid).toBeUndefined()
}

describe('a loss of power', () => {
  it.each([
    ['after backup', one, 'UPDATE_FAILED interrupted'],
    ['after unlink', one, 'ROLLED_BACK interrupted'],
    ['after rename', two, 'DONE'],
  ])('%s leaves a machine that starts a whole version and says how it ended', async (moment, bytes, last) => {
    host.whole(two)
    await offered({ KILL_AT: moment })
    await gone()
    machine.start()
    await eventually(() => statuses().at(-1)).toBe(last)
    expect(machine.runningHash).toBe(sha256(bytes))
    expect(gateway.peer.of('hello').at(-1)?.agentVersion).toBe(bytes === one ? '1.0.0' : '2.0.0')
  })

  it('during the download leaves the old version, which then can be updated', async () => {
    host.stalls(two)
    await offered({})
    await eventually(() => host.asked).toBe(1)
    machine.kill()
    await gone()
    host.whole(two)
    machine.start()
    await eventually(() => statuses().at(-1)).toBe('UPDATE_FAILED interrupted')
    expect(machine.runningHash).toBe(sha256(one))
    gateway.peer.say({ updateOffer: offerOf({ version: '2.0.0', bytes: two, url: host.url }) })
    await eventually(() => statuses().at(-1)).toBe('DONE')
  })

  it('before the new version has reached the server leaves it on trial', async () => {
    host.whole(two)
    await offered({})
    await eventually(() => statuses().at(-1)).toBe('RESTARTING')
    gateway.welcomes = false
    await eventually(() => gateway.peer.of('hello').at(-1)?.agentVersion).toBe('2.0.0')
    machine.kill()
    await gone()
    gateway.welcomes = true
    machine.start()
    await eventually(() => statuses().at(-1)).toBe('DONE')
    expect(machine.runningHash).toBe(sha256(two))
  })

  it('while a new version that cannot start is tried leads back to the old one', async () => {
    const broken = brokenAgent('2.0.0')
    host.whole(broken)
    await offered({ KILL_AT: 'after rename' }, broken)
    await gone()
    machine.start()
    await eventually(() => statuses().at(-1)).toBe('ROLLED_BACK exit_at_start')
    expect(machine.runningHash).toBe(sha256(one))
  })
})

it('an agent that crashes is started again; one whose launcher is gone ends by itself', async () => {
  await offered({})
  const first = machine.agentPid ?? 0
  process.kill(first, 'SIGKILL')
  let second: number | undefined
  // Read once: between two reads the one that crashed may go.
  await eventually(() => (second = machine.agentPid)).not.toBeOneOf([undefined, first])
  await eventually(() => gateway.peer.connects).toBe(2)
  machine.killLauncher()
  await eventually(() => isAlive(second ?? first)).toBe(false)
  machine.start()
  await eventually(() => gateway.peer.connects).toBe(3)
})

it('what is newly installed is run, whatever the agent had become; a file that is lost is put back', async () => {
  machine.start()
  await eventually(() => beats().length).toBeGreaterThan(0)
  await machine.stop()
  machine.install(two)
  machine.start()
  await eventually(() => beats().at(-1)?.agentVersion).toBe('2.0.0')
  await machine.stop()
  machine.lose()
  machine.start()
  await eventually(() => gateway.peer.connects).toBe(3)
  expect(machine.runningHash).toBe(sha256(two))
})

it('ends with the launcher, and for good when the server wants no more of the device', async () => {
  machine.start()
  await eventually(() => beats().length).toBeGreaterThan(0)
  await machine.stop()
  expect([machine.exitCode, gateway.peer.of('goodbye').length]).toEqual([0, 1])
  gateway.unwanted.add(gateway.peer.deviceId)
  machine.start()
  await eventually(() => machine.exitCode).toBe(77)
})
