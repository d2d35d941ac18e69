import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, type End, startChild } from './child.ts'
import { exits } from './contract.ts'
import { decide } from './decide.ts'
import { type Journal, readJournal, removeJournal, writeJournal } from './journal.ts'
import { copyProgram, hashOf, type Place, placeIn, restore } from './place.ts'
import { readObject, writeWhole } from './whole-file.ts'

/** Between a crash and the next start: at first, at most; and how long the agent must live for this to begin anew. */
const waits = { firstMs: 500, mostMs: 60_000, healthyAfterMs: 60_000 } as const
/** A new version that does not start is not waited for long. */
const trialWaitMs = 250
/** What a stopping agent needs: it ends its commands and says goodbye. */
const stopWithinMs = 20_000
/** From any state of the disk to a program that can start takes fewer steps. */
const stepsLimit = 10

export interface LauncherOptions {
  stateDir: string
  /** The file that the launcher itself was started from: the agent as it was installed. Never changed. */
  own: string
  /** of that file */
  version: string
  /** of the agent */
  args: readonly string[]
  /** A new version that has not reached the server after so long gives way to the one before. */
  contactWithinMs: number
  log: (line: string) => void
  /** Aborted: end the agent, and this. */
  signal: AbortSignal
}

/** Keeps the agent running until it is told to end (0) or the server wants no more of the device (`exits.unwanted`). */
export const launch = (options: LauncherOptions): Promise<number> => new Launcher(options).run()

class Launcher {
  readonly #options: LauncherOptions
  readonly #place: Place
  #failures = 0
  /** the trial under way, should the disk not take what is noted of it; `since` is monotonic */
  #trial: { sha256: string; starts: number; since: number } | undefined

  constructor(options: LauncherOptions) {
    this.#options = options
    this.#place = placeIn(options.stateDir, 'svc-agent')
  }

  async run(): Promise<number> {
    const { signal, log } = this.#options
    await this.#try('what is installed was not looked at', () => this.#adoptIfNew())
    while (!signal.aborted) {
      const journal = await this.#try('the disk does not take what an update needs', () => this.#makeReady())
      const end = await this.#life(journal)
      if (signal.aborted) break
      const isTrial = journal?.stage === 'trial'
      if (end.code === exits.unwanted && !isTrial) return end.code
      if (end.code === exits.replaced && (await this.#isReplaced())) continue
      await this.#try('a crash was not noted', () => this.#noteCrash())
      const ms = this.#waitAfter(end, isTrial)
      log(`launcher: the agent ${end.how}; started again in ${(ms / 1000).toFixed(1)} s`)
      await sleep(ms, undefined, { signal }).catch(() => undefined)
    }
    return 0
  }

  /** Whatever goes wrong here, an agent that runs is better than none. */
  async #try<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#options.log(`launcher: ${what}: ${String(error)}`)
      return undefined
    }
  }

  /** A file that was installed since the last look is the operator's will, whatever agents have done since. */
  async #adoptIfNew(): Promise<void> {
    const { stateDir, own } = this.#options
    const known = await readObject(join(stateDir, 'launcher.json'))
    if (known?.['adopted'] === (await hashOf(own))) return
    await removeJournal(stateDir)
    await this.#adopt()
  }

  async #adopt(): Promise<void> {
    const { stateDir, own, version, log } = this.#options
    await mkdir(dirname(this.#place.file), { recursive: true, mode: 0o700 })
    const adopted = await copyProgram(own, this.#place.file)
    await writeWhole(join(stateDir, 'launcher.json'), `${JSON.stringify({ adopted, version })}\n`)
    log(`launcher: ${version} was taken from ${own}`)
  }

  /** Brings the disk to where the agent can start. Answers the update that is under way. */
  async #makeReady(): Promise<Journal | undefined> {
    const { stateDir } = this.#options
    const { file, backup } = this.#place
    for (let step = 0; step < stepsLimit; step += 1) {
      const journal = this.#remembered(await readJournal(stateDir))
      const decision = decide({ journal, file: await hashOf(file), backup: await hashOf(backup) })
      if (decision.act === 'start') return journal && (await this.#countStart(journal))
      if (decision.act === 'note') await this.#note(decision.journal)
      else if (decision.act === 'restore') await restore(this.#place)
      else await this.#adopt()
    }
    throw new Error('no step leads to a program that can start')
  }

  #remembered(journal: Journal | undefined): Journal | undefined {
    if (journal?.stage !== 'trial' || journal.to.sha256 !== this.#trial?.sha256) return journal
    return { ...journal, starts: Math.max(journal.starts, this.#trial.starts) }
  }

  async #countStart(journal: Journal): Promise<Journal> {
    if (journal.stage !== 'trial') {
      this.#trial = undefined
      return journal
    }
    const { sha256 } = journal.to
    const since = this.#trial?.sha256 === sha256 ? this.#trial.since : performance.now()
    const counted = { ...journal, starts: journal.starts + 1 }
    this.#trial = { sha256, starts: counted.starts, since }
    await this.#try('a start was not noted', () => writeJournal(this.#options.stateDir, counted))
    return counted
  }

  async #note(journal: Journal): Promise<void> {
    const { stateDir, log } = this.#options
    await writeJournal(stateDir, journal)
    if (journal.stage === 'reverting')
      log(`launcher: ${journal.to.version} gives way to ${journal.from.version}: ${journal.reason}`)
  }

  async #life(journal: Journal | undefined): Promise<End> {
    const { args, version, signal } = this.#options
    const child = startChild(this.#place.file, args, version)
    const stop = () => child.stop(stopWithinMs)
    signal.addEventListener('abort', stop, { once: true })
    const end = journal?.stage === 'trial' ? await this.#withinContact(child) : await child.ended
    signal.removeEventListener('abort', stop)
    return end
  }

  /** Ends a new version that runs and reaches nobody. It may prove itself until the moment it is gone. */
  async #withinContact(child: Child): Promise<End> {
    const { contactWithinMs, stateDir } = this.#options
    let late = false
    const look = async () => {
      if ((await readJournal(stateDir))?.stage !== 'trial') return
      late = true
      child.stop(stopWithinMs)
    }
    const leftMs = (this.#trial?.since ?? 0) + contactWithinMs - performance.now()
    const timer = setTimeout(() => void this.#try('the update was not read', look), Math.max(0, leftMs))
    const end = await child.ended
    clearTimeout(timer)
    if (late) await this.#try('a roll-back was not noted', () => this.#noteSilence())
    return end
  }

  /** Whether an update is behind it: an agent that merely says so would be started without a pause. */
  async #isReplaced(): Promise<boolean> {
    const journal = await this.#try('the update was not read', () => readJournal(this.#options.stateDir))
    return journal?.stage === 'trial' || journal?.stage === 'swapping'
  }

  async #noteSilence(): Promise<void> {
    const journal = await readJournal(this.#options.stateDir)
    if (journal?.stage === 'trial') await this.#note({ ...journal, stage: 'reverting', reason: 'no_contact' })
  }

  async #noteCrash(): Promise<void> {
    const journal = await readJournal(this.#options.stateDir)
    if (journal?.stage === 'proven') await this.#note({ ...journal, crashes: journal.crashes + 1 })
  }

  #waitAfter({ livedMs }: End, isTrial: boolean): number {
    if (isTrial) return trialWaitMs
    this.#failures = livedMs >= waits.healthyAfterMs ? 0 : this.#failures + 1
    return Math.min(waits.mostMs, waits.firstMs * 2 ** Math.min(this.#failures - 1, 20))
  }
}
