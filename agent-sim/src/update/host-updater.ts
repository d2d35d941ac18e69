import { svc } from '@svc/proto'
import type { KeyRing } from '../commands/key-ring.ts'
import type { Build, Journal, Stage } from '../launcher/journal.ts'
import { hashOf, type Place, placeIn, type Swap } from '../launcher/place.ts'
import { writeWhole } from '../launcher/whole-file.ts'
import { Chronicle } from './chronicle.ts'
import { helperVersionFile, readHelperVersion } from './helper-version.ts'
import { type Offer, type Proven, prove } from './prove.ts'
import { failureOf, UpdateFailed, type UpdateReason } from './reasons.ts'
import { replace } from './replace.ts'
import { keyOf, Targets } from './targets.ts'
import { Telling } from './telling.ts'
import type { MakeUpdater, Updater, UpdaterPorts, Versions } from './updater.ts'

const { UpdatePhase } = svc.v1

/** A file that is busy is tried again with so many heartbeats, in all. */
const busyTries = 5

type Component = 'agent' | 'helper'

export interface HostUpdaterOptions {
  stateDir: string
  /** Base URL of the API: an offer's path without host is one of its. */
  api: string
  /** of this agent and of the launcher that started it; without one no file is replaced, for nobody would start it */
  version: string
  launcher: string | undefined
  trusted: KeyRing
  /** the steps of a swap; a test's own */
  swap?: Swap
}

/** What is on the disk about updates when the agent starts. */
interface Known {
  chronicle: Chronicle
  targets: Targets
  helper: string
}

/** Updates the agent of this machine, and the helper beside it, by replacing their files. Reads what the last run left behind. */
export async function hostUpdater(options: HostUpdaterOptions): Promise<MakeUpdater> {
  const { stateDir } = options
  const [chronicle, targets, helper] = await Promise.all([
    Chronicle.open(stateDir),
    Targets.open(stateDir),
    readHelperVersion(stateDir),
  ])
  return (ports) => new HostUpdater(options, { chronicle, targets, helper }, ports)
}

/** An update that is under way. */
interface Run extends Proven {
  component: Component
  from: string
  to: Build
  offer: Offer
}

class HostUpdater implements Updater {
  readonly versions: Versions
  readonly #options: HostUpdaterOptions
  readonly #ports: UpdaterPorts
  readonly #targets: Targets
  readonly #chronicle: Chronicle
  readonly #telling: Telling
  readonly #ending = new AbortController()
  /** the newest offer of each component */
  readonly #waiting = new Map<string, Offer>()
  #isBusy = false
  /** how often the file of that key was busy */
  #busy = { key: '', times: 0 }
  isFresh: boolean

  constructor(options: HostUpdaterOptions, { chronicle, targets, helper }: Known, ports: UpdaterPorts) {
    this.#options = options
    this.#ports = ports
    this.#targets = targets
    this.#chronicle = chronicle
    this.#telling = new Telling(ports.say)
    this.versions = { agent: options.version, helper, watchdog: options.launcher ?? '' }
    this.isFresh = ['trial', 'proven', 'reverted'].includes(chronicle.present?.stage ?? '')
    void this.#guard(() => this.#resume())
  }

  connected(): void {
    this.#telling.connected()
    void this.#guard(() => this.#prove())
  }

  offered(offer: Offer): void {
    this.#waiting.set(offer.component ?? '', offer)
    this.#next()
  }

  beat(): void {
    void this.#guard(() => this.#prove())
    this.#next()
  }

  answered(): void {
    this.isFresh = false
    this.#telling.answered()
  }

  stop(): void {
    this.#ending.abort(new UpdateFailed('interrupted', 'the agent ends'))
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#ports.log(`update: ${String(error)}`)
    }
  }

  /** What the last run left behind, where that was no trial: it is told. */
  async #resume(): Promise<void> {
    const journal = this.#chronicle.present
    if (!journal) return
    if (journal.stage === 'begun' || journal.stage === 'swapping') return this.#failed(journal, 'interrupted')
    if (journal.stage === 'reverted') {
      await this.#targets.failed(keyOf('agent', journal.to), journal.atMs)
      this.#tellEnd(journal)
    }
    if (journal.stage === 'failed' || journal.stage === 'proven') this.#tellEnd(journal)
  }

  /** The marker that the launcher waits for, and only then a word. Tried with each heartbeat, should the disk not take it. */
  async #prove(): Promise<void> {
    const journal = this.#chronicle.present
    if (journal?.stage !== 'trial' || this.#isBusy) return
    if (journal.to.version !== this.versions.agent)
      throw new Error(`${journal.to.version} was put here, and it says it is ${this.versions.agent}`)
    this.#isBusy = true
    try {
      const proven: Journal = { ...journal, stage: 'proven', atMs: this.#now() }
      await this.#chronicle.write(proven)
      this.#tellEnd(proven)
    } finally {
      this.#isBusy = false
    }
  }

  /** Said at once, whatever the disk takes: without a note the next start says that it was interrupted. */
  async #failed(journal: Journal, reason: UpdateReason): Promise<void> {
    const failed: Journal = { ...journal, stage: 'failed', reason, atMs: this.#now() }
    this.#tellEnd(failed)
    await this.#guard(() => this.#chronicle.write(failed))
  }

  #tellEnd({ stage, from, to, reason, atMs }: Journal): void {
    const phases: Partial<Record<Stage, svc.v1.UpdatePhase>> = {
      proven: UpdatePhase.DONE,
      reverted: UpdatePhase.ROLLED_BACK,
      failed: UpdatePhase.UPDATE_FAILED,
    }
    const phase = phases[stage] ?? UpdatePhase.UPDATE_PHASE_UNSPECIFIED
    const status = {
      component: 'agent',
      fromVersion: from.version,
      toVersion: to.version,
      phase,
      reason,
      atMs,
    }
    this.#telling.tell(status, () => void this.#guard(() => this.#chronicle.close()))
  }

  #now(): number {
    return Math.round(this.#ports.serverNow())
  }

  /** One at a time; what comes meanwhile waits for a heartbeat. */
  #next(): void {
    const [entry] = this.#waiting
    if (!entry || this.#isBusy || this.#ending.signal.aborted) return
    const [component, offer] = entry
    this.#waiting.delete(component)
    if (!this.#ports.autoUpdate())
      return this.#ports.log(`update: ${component} ${offer.version} is not taken: updates are switched off`)
    this.#isBusy = true
    void this.#guard(() => this.#take(offer)).finally(() => {
      this.#isBusy = false
    })
  }

  async #take(offer: Offer): Promise<void> {
    const run = await this.#judge(offer)
    if (typeof run === 'string') return this.#refuse(offer, run)
    if (!this.#mayTry(run)) return
    try {
      await this.#run(run)
    } catch (error) {
      await this.#brokenOff(run, failureOf(error))
    }
  }

  async #brokenOff(run: Run, failure: UpdateFailed): Promise<void> {
    const { component, to, offer } = run
    const key = keyOf(component, to)
    if (failure.reason === 'text_busy' && this.#mayWait(key)) {
      this.#ports.log(`update: ${failure.message}; again with the next heartbeat`)
      if (!this.#waiting.has(component)) this.#waiting.set(component, offer)
      return
    }
    await this.#fail(run, failure)
    if (!isOurDoing(failure)) await this.#targets.failed(key, this.#now())
  }

  #mayWait(key: string): boolean {
    this.#busy = { key, times: this.#busy.key === key ? this.#busy.times + 1 : 1 }
    return this.#busy.times < busyTries
  }

  /** What is offered, if it is for this device and can be put in place here; else why not. */
  async #judge(offer: Offer): Promise<Run | UpdateReason> {
    const { os, arch } = this.#ports
    const component = offer.component === 'helper' ? 'helper' : 'agent'
    const from = this.versions[component]
    const [{ trusted, launcher }, now] = [this.#options, this.#now()]
    const sequence = this.#targets.sequenceOf(component)
    const proven = prove(offer, { os, arch, version: from, trusted, sequence, now })
    if (typeof proven === 'string') return proven
    if (!launcher || !(await this.#isInstalled(component, from))) return 'not_installed'
    await this.#targets.accept(component, proven.manifest.sequence)
    const to = { version: proven.manifest.version, sha256: proven.asset.sha256 }
    return { ...proven, component, from, to, offer }
  }

  /** False where it went wrong, or was downloaded, too often of late: that was said then. */
  #mayTry({ component, to }: Run): boolean {
    const [key, now] = [keyOf(component, to), this.#now()]
    const until = Math.max(this.#targets.restsUntil(key, now), this.#targets.fullUntil(key, now))
    if (until > 0)
      this.#ports.log(`update: ${component} ${to.version} rests until ${new Date(until).toISOString()}`)
    return until === 0
  }

  async #isInstalled(component: Component, version: string): Promise<boolean> {
    return version !== '' && (await hashOf(this.#placeOf(component).file)) !== undefined
  }

  #placeOf(component: Component): Place {
    return placeIn(this.#options.stateDir, `svc-${component}`)
  }

  async #run(run: Run): Promise<void> {
    const { component, asset, offer, to } = run
    const tell = (phase: svc.v1.UpdatePhase) => this.#tell(run, phase)
    if (component === 'agent') await this.#note(run, 'begun', '')
    await replace({
      place: this.#placeOf(component),
      url: addressOf(offer.url ?? '', this.#options.api),
      size: asset.size,
      sha256: asset.sha256,
      signal: this.#ending.signal,
      swap: this.#options.swap,
      tell,
      downloading: () => this.#targets.downloading(keyOf(component, to), this.#now()),
      secured: async (backup) => {
        if (!this.#ports.autoUpdate()) throw new UpdateFailed('switched_off')
        if (component === 'agent') await this.#note(run, 'swapping', backup)
      },
    })
    if (component === 'helper') return this.#helperReplaced(run)
    // It is in place: without this note the launcher sees that for itself.
    await this.#guard(() => this.#note(run, 'trial', this.#chronicle.present?.from.sha256 ?? ''))
    tell(UpdatePhase.RESTARTING)
    this.stop()
    this.#ports.makeWay()
  }

  async #helperReplaced(run: Run): Promise<void> {
    await writeWhole(helperVersionFile(this.#options.stateDir), `${run.to.version}\n`)
    this.versions.helper = run.to.version
    this.#tell(run, UpdatePhase.DONE)
  }

  /** @param sha256 of the old version, as far as it is known yet */
  #note({ from, to }: Run, stage: Stage, sha256: string): Promise<void> {
    const old = { version: from, sha256 }
    return this.#chronicle.write({
      stage,
      from: old,
      to,
      atMs: this.#now(),
      starts: 0,
      crashes: 0,
      reason: '',
    })
  }

  #tell({ component, from, to }: Run, phase: svc.v1.UpdatePhase, reason = ''): void {
    const [fromVersion, toVersion, atMs] = [from, to.version, this.#now()]
    this.#telling.tell({ component, fromVersion, toVersion, phase, reason, atMs })
  }

  async #fail(run: Run, { reason, message }: UpdateFailed): Promise<void> {
    this.#ports.log(`update: ${run.component} ${run.to.version} failed: ${message}`)
    const journal = this.#chronicle.present
    if (run.component === 'agent' && journal) await this.#failed(journal, reason)
    else this.#tell(run, UpdatePhase.UPDATE_FAILED, reason)
  }

  #refuse({ component, version }: Offer, reason: UpdateReason): void {
    const of = component === 'helper' ? 'helper' : 'agent'
    const toVersion = String(version).slice(0, 60)
    this.#ports.log(`update: ${component} ${toVersion} is refused: ${reason}`)
    const status = { component: component ?? '', fromVersion: this.versions[of], toVersion, reason }
    this.#telling.tell({ ...status, phase: UpdatePhase.UPDATE_FAILED, atMs: this.#now() })
    // Nobody waits for the word before this one any more.
    if (of === 'agent' && this.#chronicle.present?.stage === 'failed')
      void this.#guard(() => this.#chronicle.close())
  }
}

/** Not the file's fault: it may be tried again at once. */
const isOurDoing = ({ reason }: UpdateFailed): boolean =>
  reason === 'interrupted' || reason === 'switched_off'

/** @throws UpdateFailed for what is no address to download from */
function addressOf(url: string, api: string): URL {
  const address = URL.canParse(url, api) ? new URL(url, api) : undefined
  if (address?.protocol === 'http:' || address?.protocol === 'https:') return address
  throw new UpdateFailed('download_failed', `no address to download from: ${url.slice(0, 200)}`)
}
