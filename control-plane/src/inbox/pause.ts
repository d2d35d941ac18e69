/** Waits that somebody can end: `stop()` ends the present one and all later ones at once. */
export class Pauses {
  readonly #controller = new AbortController()

  get stopped(): boolean {
    return this.#controller.signal.aborted
  }

  stop(): void {
    this.#controller.abort()
  }

  /** Resolves after `ms`, or when stopped. */
  wait(ms: number): Promise<void> {
    const { signal } = this.#controller
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
    })
  }
}

/** The next pause after `failures` failures in a row: doubling up to `maxMs`, the upper half of it at random. */
export function backOff(
  failures: number,
  { retryMs, retryMaxMs }: { retryMs: number; retryMaxMs: number },
): number {
  const cap = Math.min(retryMaxMs, retryMs * 2 ** Math.min(failures - 1, 20))
  return cap / 2 + (Math.random() * cap) / 2
}
