import { svc } from '@svc/proto'
import type { Clock } from '../../clock.ts'
import type { Behaviour, Vitals } from '../behaviour.ts'
import { pageOf } from '../process-page.ts'
import { dice } from './dice.ts'
import { makeProfile, type Profile } from './profile.ts'
import { simulateNetwork } from './simulated-network.ts'
import { simulateProcesses } from './simulated-processes.ts'
import { simulateScript } from './simulated-script.ts'
import { simulateSoftware } from './simulated-software.ts'
import { Walk } from './walk.ts'

export interface SimulatedOptions {
  /** Which machine: the same number is the same machine in every run. */
  number: number
  /** In front of each hostname, to tell fleets apart. */
  prefix: string
  clock: Clock
}

/** A machine that exists only as numbers. */
export function simulatedBehaviour({ number, prefix, clock }: SimulatedOptions): Behaviour {
  const profile = makeProfile(number, prefix, clock.now())
  const vitals = simulateVitals(number, profile, clock)
  let round = 0
  return {
    facts: profile.facts,
    vitals: async () => vitals(),
    collect: async () => [
      { hardware: profile.hardware },
      { os: operatingSystem(profile) },
      { disks: { disks: profile.disks } },
      { network: simulateNetwork(number, profile.facts.osType) },
      { software: simulateSoftware(number, profile.facts.osType) },
    ],
    commands: {
      list_processes: async (args) => {
        round += 1
        return { result: pageOf(simulateProcesses(number, profile.facts, profile.bootedAtMs, round), args) }
      },
      run_script: (args, context) => simulateScript(args, context, clock),
    },
  }
}

const operatingSystem = ({ facts, bootedAtMs }: Profile): svc.v1.OperatingSystem.$Properties => ({
  hostname: facts.hostname,
  osType: facts.osType,
  name: facts.osName,
  version: facts.osVersion,
  build: facts.osBuild,
  architecture: facts.architecture,
  bootId: facts.bootId,
  bootedAtMs,
})

function simulateVitals(number: number, profile: Profile, clock: Clock): () => Vitals {
  const random = dice(number ^ 0xbea7)
  const [cpu, ram] = [new Walk(random, 5 + 30 * random(), 12), new Walk(random, 30 + 40 * random(), 3)]
  const diskUsed = profile.disks.reduce((sum, disk) => sum + (disk.usedBytes ?? 0), 0)
  const ramTotal = profile.hardware.ramTotalBytes ?? 0
  const traffic = { in: 0, out: 0 }
  return () => {
    const ramPercent = ram.step()
    traffic.in += Math.floor(random() * 5e6)
    traffic.out += Math.floor(random() * 1e6)
    return {
      status: svc.v1.HeartbeatStatus.OK,
      uptimeSeconds: Math.floor((clock.now() - profile.bootedAtMs) / 1000),
      pendingReboot: false,
      loggedInUser: profile.user,
      metrics: {
        cpuPercent: cpu.step(),
        ramPercent,
        ramUsedBytes: Math.floor((ramTotal * ramPercent) / 100),
        diskPercent: (100 * diskUsed) / (profile.hardware.diskTotalBytes || 1),
        diskUsedBytes: diskUsed,
        netInBytes: traffic.in,
        netOutBytes: traffic.out,
        processCount: 90 + Math.floor(random() * 20),
      },
    }
  }
}
