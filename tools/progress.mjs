const patienceMs = 1_500

const seconds = (ms) => `${(ms / 1000).toFixed(1).padStart(5)} s`

/**
 * Says what is being done and how long it took. A step that takes its time is named while it runs, too.
 * @param {(line: string) => void} write
 */
export function createProgress(write = (line) => process.stdout.write(`${line}\n`)) {
  const began = performance.now()
  return {
    /** Milliseconds since the beginning. */
    elapsedMs: () => performance.now() - began,
    say: (text) => write(`         ${text}`),
    /**
     * Runs one step; `done` makes the line from what came out.
     * @template T
     * @param {string} what
     * @param {() => Promise<T> | T} work
     * @param {(value: T) => string} [done]
     * @returns {Promise<T>}
     */
    async step(what, work, done = () => what) {
      const start = performance.now()
      const slow = setTimeout(() => write(`      …  ${what}`), patienceMs)
      try {
        const value = await work()
        write(`${seconds(performance.now() - start)}  ${done(value)}`)
        return value
      } finally {
        clearTimeout(slow)
      }
    },
  }
}

/** For commands whose output is read by machines. */
export const silent = createProgress(() => undefined)
