/** What has to be undone, last one first. */
export class Undo {
  readonly #steps: (() => void | Promise<void>)[] = []
  #running: Promise<Error[]> | undefined

  add(step: () => void | Promise<void>): void {
    this.#steps.push(step)
  }

  /** Undoes all, each even where another failed, and answers with what failed. Once, whoever asks. */
  run(): Promise<Error[]> {
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<Error[]> {
    const failures: Error[] = []
    // What is added meanwhile is undone, too: something was being started when the end came.
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step()
      } catch (error) {
        failures.push(error as Error)
      }
    }
    return failures
  }
}
