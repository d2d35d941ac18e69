import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Api } from '../harness/api.ts'
import { check } from '../harness/checker/checker.ts'
import type { Asked } from '../harness/checker/evidence.ts'
import { fleetLedgers, hostLedger } from '../harness/checker/ledgers.ts'
import { linesOf } from '../harness/checker/verdict.ts'
import { type Crowd, startCrowd } from '../harness/crowd.ts'
import type { Accepted, Effect } from '../harness/judge.ts'
import { type Program, startProgram } from '../harness/program.ts'
import { startSystem, type System } from '../harness/system.ts'
import { until } from '../harness/until.ts'
import { enroll, type Enrolled, speak, type Voice } from '../harness/voice.ts'

/** What the server adds to a command's own time before it ends the command itself. */
export const graceMs = 1_000

/** The agent of this machine, as a program. */
export interface HostAgent {
  deviceId: string
  program: Program
  folder: string
}

/**
 * Two control planes, a gateway, simulated agents over each transport, the agent of this machine, and as many devices of the test's
 * own as it wants. Everything that anybody is given to do is judged together.
 */
export class Stage {
  readonly system: System
  /** the same caller, at either control plane */
  readonly apis: readonly [Api, Api]
  readonly crowd: Crowd
  readonly accepted: Accepted[] = []
  readonly asked: Asked[] = []
  /** of devices that the test plays: what they say to have carried out */
  readonly effects: Effect[] = []
  readonly #voices: Voice[] = []
  readonly #tokens = new Map<string, Enrolled>()
  #host: HostAgent
  /** what the agent of this machine said in the lives before */
  #hostLog = ''

  private constructor(system: System, apis: readonly [Api, Api], crowd: Crowd, host: HostAgent) {
    this.system = system
    this.apis = apis
    this.crowd = crowd
    this.#host = host
  }

  static async open(): Promise<Stage> {
    const variables = { DEADLINE_GRACE_MS: String(graceMs) }
    const system = await startSystem({ controlPlanes: 2, variables })
    try {
      const [first, second] = await system.admins(2)
      if (!first || !second) throw new Error('there are not two control planes')
      const transports = { websocket: 1, mqtt: 1, 'mqtt-ws': 1 }
      const [crowd, host] = await Promise.all([
        startCrowd(system, { agents: 6, name: 'crowd', transports }),
        startHostAgent(system),
      ])
      return new Stage(system, [first, second], crowd, host)
    } catch (error) {
      await system.close()
      throw error
    }
  }

  get api(): Api {
    return this.apis[0]
  }

  get host(): HostAgent {
    return this.#host
  }

  /** Brings the agent of this machine back. */
  async restartHost(): Promise<void> {
    this.#hostLog += this.#host.program.log()
    this.#host = await startHostAgent(this.system)
  }

  /** A device of the test's own, over that transport. */
  async voice(via: 'websocket' | 'mqtt'): Promise<Voice> {
    return this.again(via, await enroll(this.api, this.system))
  }

  /** Who such a device is. */
  tokenOf(deviceId: string): Enrolled {
    const device = this.#tokens.get(deviceId)
    if (!device) throw new Error(`${deviceId} is not played by the test`)
    return device
  }

  /** Connects such a device once more. */
  async again(via: 'websocket' | 'mqtt', device: Enrolled): Promise<Voice> {
    this.#tokens.set(device.deviceId, device)
    const [url = ''] = via === 'mqtt' ? this.system.mqttUrls : this.system.gatewayUrls
    const voice = await speak(url, device)
    this.#voices.push(voice)
    return voice
  }

  /** Sends a script; what must come of it is judged at the end. */
  async script(
    deviceId: string,
    content: string,
    must: Partial<Accepted> = {},
    more: object = {},
  ): Promise<string> {
    const payload = { interpreter: 'sh', content }
    const id = await this.api.send(deviceId, 'run_script', payload, more)
    this.accepted.push({ id, deviceId, ...must })
    return id
  }

  /** The command's state as Postgres has it. */
  async state(id: string): Promise<string | undefined> {
    const [row] = await this.system.sql<{ status: string }[]>`select status from commands where id = ${id}`
    return row?.status
  }

  becomes(id: string, ...states: string[]): Promise<void> {
    const there = async () => states.includes((await this.state(id)) ?? '')
    return until(`command ${id} is ${states.join(' or ')}`, there, 20_000)
  }

  /** What is wrong with all that was done here, once it has come to rest; one line each. */
  async broken(): Promise<string[]> {
    const { system, accepted, asked, crowd } = this
    const { deviceId, folder, program } = this.#host
    const host = hostLedger(folder, deviceId)
    // A ledger lets go of when something began once it has ended.
    const began = (this.#hostLog + program.log()).matchAll(/ command (\S+) started$/gm)
    const ran = [...began].map(([, commandId = '']) => ({ commandId, deviceId }))
    const effects = [...crowd.executions(), ...ran, ...this.effects]
    const ledgers = [...fleetLedgers(crowd.folder), ...host]
    return linesOf(await check(system, { accepted, asked, effects, ledgers }))
  }

  /** What both control planes counted under that name and label. */
  async counted(name: string, label: string): Promise<number> {
    const texts = await Promise.all(
      [0, 1].map(async (index) => {
        const url = /"metricsUrl":"([^"]+)"/.exec(this.system.controlPlane(index).log())?.[1] ?? ''
        return (await fetch(url)).text()
      }),
    )
    const values = texts.map(
      (text) => new RegExp(`^${name}\\{[^}]*"${label}"[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1],
    )
    return values.reduce((sum, value) => sum + Number(value ?? 0), 0)
  }

  async close(): Promise<void> {
    for (const voice of this.#voices) voice.drop()
    await this.#host.program.kill()
    await this.crowd.fleet.kill()
    await this.system.close()
  }
}

async function startHostAgent(system: System): Promise<HostAgent> {
  const folder = join(system.folder, 'host')
  const program = await startProgram({
    entry: 'agent',
    args: ['host', '--state-dir', folder],
    env: { SVC_API: system.apiUrl, SVC_ENROLLMENT_KEY: system.tenant.enrollmentKey },
    ready: /connected in/,
  })
  const { deviceId } = JSON.parse(readFileSync(join(folder, 'identity.json'), 'utf8')) as { deviceId: string }
  return { deviceId, program, folder }
}
