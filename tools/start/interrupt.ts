/** One press of Ctrl-C may arrive twice: from the terminal, and from npm, which hands it on. */
const samePressMs = 800
const orphanCheckMs = 500

/**
 * Resolves at the first SIGINT, SIGTERM or SIGHUP, or when whoever watches over us is gone; from then on the next such
 * signal calls `again`.
 */
export function interrupted(again: () => void): Promise<string> {
  return new Promise((resolve) => {
    let first = 0
    const onSignal = (name: string) => {
      if (first === 0) {
        first = Date.now()
        resolve(name)
      } else if (Date.now() - first > samePressMs) again()
    }
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => onSignal(name))
    process.once('disconnect', () => onSignal('disconnect'))
    onOrphaned(() => onSignal('npm is gone'))
  })
}

/** npm hands a SIGTERM on to the shell between us, which dies without a word: then we belong to somebody else. */
function onOrphaned(gone: () => void): void {
  const parent = process.ppid
  if (!process.env['npm_lifecycle_event']) return
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    gone()
  }, orphanCheckMs)
  timer.unref()
}
