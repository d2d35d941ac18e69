/** Something running that can end by itself or be ended. */
export interface Running {
  name: string
  /** In an orderly way. */
  stop(): Promise<unknown>
  /** At once, without tidying up. */
  kill(): unknown
  /** Settles when it is gone, however that came, with what is known about it. */
  exited: Promise<string>
}

/** Starting was given up because everything is being ended. */
export class Abandoned extends Error {}

/** What was started, in order; it is ended in the opposite order, once. */
export class Stack {
  readonly #running: Running[] = []
  readonly #late: Promise<unknown>[] = []
  readonly #failures: unknown[] = []
  #closing: Promise<void> | undefined
  #reportCrash: (message: string) => void = () => undefined

  /** Resolves when something ends that nobody asked to end. */
  readonly crashed = new Promise<string>((resolve) => {
    this.#reportCrash = resolve
  })

  /** Takes charge of it. When everything is being ended already, it is ended, too, and its starter is told to give up. */
  push<T extends Running>(running: T): T {
    if (this.#closing) {
      this.#late.push(this.#stop(running))
      throw new Abandoned(`${running.name} came too late`)
    }
    this.#running.push(running)
    void running.exited.then((how) => {
      if (!this.#closing) this.#reportCrash(`${running.name} ${how}`)
    })
    return running
  }

  /** Takes charge of what is still starting, so that what is started after it, but sooner there, ends before it. */
  pushStarting(name: string, starting: Promise<Running | undefined>): void {
    const started = starting.catch(() => undefined)
    const never = new Promise<string>(() => undefined)
    this.push({
      name,
      stop: async () => (await started)?.stop(),
      kill: () => void started.then((running) => running?.kill()),
      exited: started.then((running) => running?.exited ?? never),
    })
  }

  /** Idempotent. What fails to stop does not keep the rest from stopping; resolves with the failures. */
  async close(): Promise<unknown[]> {
    this.#closing ??= this.#closeAll()
    await this.#closing
    await Promise.all(this.#late)
    return this.#failures
  }

  async #closeAll(): Promise<void> {
    for (const running of [...this.#running].reverse()) await this.#stop(running)
  }

  async #stop(running: Running): Promise<void> {
    await running.stop().catch((error: unknown) => this.#failures.push(error))
  }

  killAll(): void {
    for (const running of this.#running) running.kill()
  }
}
