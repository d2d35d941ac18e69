import type { Behaviour, Context, Done } from '../src/behaviours/behaviour.ts'
import { Agent, type AgentOptions } from '../src/agent.ts'
import { keyRing } from '../src/commands/key-ring.ts'
import type { AgentEvent } from '../src/events.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { MemoryLedger } from '../src/ledger/memory.ts'
import { ManualClock } from './manual-clock.ts'
import { type Order, signed, signingKeys } from './signer.ts'
import { Wire } from './wire.ts'

export const deviceId = '0199aaaa-0000-7000-8000-000000000001'

/** A script's content says what it does here: `ok`, `fail`, `throw`, or `wait` until it is told to end, or `deaf`: never ends. */
async function pretend(content: string, { signal }: Context): Promise<Done> {
  if (content === 'throw') throw new Error('it broke')
  if (content === 'deaf') return new Promise(() => {})
  if (content === 'wait' && !signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  return content === 'fail' ? { exitCode: 3, failed: 'exit code 3' } : { exitCode: 0, result: null }
}

/** An agent of a pretended device, on a wire and a clock in the test's hands. */
export class Device {
  readonly clock: ManualClock
  readonly wire = new Wire()
  readonly ledger: Ledger
  readonly events: AgentEvent[] = []
  /** contents of the scripts that ran */
  readonly ran: string[] = []
  disks = 100
  agent: Agent
  random = 0.5

  constructor(
    clock = new ManualClock(),
    ledger: Ledger = new MemoryLedger(clock),
    more: Partial<AgentOptions> = {},
  ) {
    this.clock = clock
    this.ledger = ledger
    this.agent = new Agent({
      deviceId,
      keys: keyRing(signingKeys),
      transport: this.wire,
      ledger,
      behaviour: this.#behaviour(),
      clock,
      random: () => this.random,
      observe: (event) => this.events.push(event),
      ...more,
    })
  }

  async start(): Promise<this> {
    await this.agent.start()
    await this.clock.advance(0)
    return this
  }

  async live() {
    await this.start()
    this.wire.admit()
    await this.clock.advance(0)
    return this
  }

  /** Sends a signed run_script; answers its id. */
  async script(content: string, order: Partial<Order> = {}, attempt = 1): Promise<string> {
    const args = { interpreter: 'sh', content }
    const { commandId, command } = signed({ deviceId, args, now: this.clock.now(), ...order }, { attempt })
    this.wire.end.say({ command })
    await this.clock.advance(0)
    return commandId
  }

  outcomes(): string[] {
    return this.events.flatMap((event) => (event.kind === 'finished' ? [event.outcome] : []))
  }

  #behaviour(): Behaviour {
    return {
      facts: {
        hostname: 'pretend',
        osType: 'linux',
        osName: 'Debian GNU/Linux',
        osVersion: '12',
        osBuild: '6.1',
        architecture: 'amd64',
        bootId: 'boot',
        deviceRole: 'server',
      },
      vitals: async () => ({ uptimeSeconds: 1 }),
      collect: async () => [
        { hardware: { cpuModel: 'one' } },
        { disks: { disks: [{ mountPoint: '/', totalBytes: this.disks }] } },
      ],
      commands: {
        list_processes: async () => ({ result: { processes: [], total: 0, page: 1, limit: 50 } }),
        run_script: async ({ content }, context) => {
          this.ran.push(content)
          return pretend(content, context)
        },
      },
    }
  }
}
