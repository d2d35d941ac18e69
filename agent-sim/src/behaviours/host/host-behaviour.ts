import type { Behaviour, Collected } from '../behaviour.ts'
import { pageOf } from '../process-page.ts'
import { readDisks } from './disks.ts'
import { operatingSystem, readFacts } from './facts.ts'
import { readHardware } from './hardware.ts'
import { readNetwork } from './network.ts'
import { readProcesses } from './processes.ts'
import { runScript } from './script.ts'
import { readSoftware } from './software.ts'
import { VitalSigns } from './vitals.ts'

/** The Linux machine that this process runs on. Throws on any other system. */
export async function hostBehaviour(): Promise<Behaviour> {
  if (process.platform !== 'linux') throw new Error(`the agent runs on Linux, not on ${process.platform}`)
  const facts = await readFacts()
  const signs = new VitalSigns()
  return {
    facts,
    vitals: () => signs.read(),
    collect: (trouble) =>
      eachOf(trouble, {
        hardware: async () => ({ hardware: await readHardware() }),
        os: async () => ({ os: await operatingSystem(facts) }),
        disks: async () => ({ disks: { disks: await readDisks() } }),
        network: async () => ({ network: await readNetwork() }),
        software: async () => ({ software: await readSoftware() }),
      }),
    commands: {
      list_processes: async (args) => ({ result: pageOf(await readProcesses(), args) }),
      run_script: runScript,
    },
  }
}

/** One after the other, so that the machine does not notice; a package database that is broken hides no disk that is full. */
async function eachOf(
  trouble: (text: string) => void,
  readers: Record<string, () => Promise<Collected>>,
): Promise<Collected[]> {
  const all: Collected[] = []
  for (const [kind, read] of Object.entries(readers)) {
    try {
      all.push(await read())
    } catch (error) {
      trouble(`inventory: ${kind}: ${String(error)}`)
    }
  }
  return all
}
