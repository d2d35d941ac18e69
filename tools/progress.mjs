/** A step is named while it runs after so long, and again every so often: nobody waits without a word. */
const patienceMs = 1_500
const againMs = 5_000

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
     * @param {string | (() => string)} what a function says how far it is
     * @param {() => Promise<T> | T} work
     * @param {(value: T) => string} [done]
     * @returns {Promise<T>}
     */
    async step(what, work, done) {
      const start = performance.now()
      const now = () => (typeof what === 'string' ? what : what())
      const meanwhile = (since) => {
        write(`      …  ${now()}${since}`)
        slow = setTimeout(() => meanwhile(`, for ${seconds(performance.now() - start).trim()}`), againMs)
      }
      let slow = setTimeout(() => meanwhile(''), patienceMs)
      try {
        const value = await work()
        write(`${seconds(performance.now() - start)}  ${done ? done(value) : now()}`)
        return value
      } finally {
        clearTimeout(slow)
      }
    },
  }
}

/** For commands whose output is read by machines. */
export const silent = createProgress(() => undefined)
