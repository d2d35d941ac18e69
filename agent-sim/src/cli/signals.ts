/** Resolves at the first SIGTERM, SIGINT, or SIGHUP of a terminal that was closed. A second one ends the process at once. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let told = false
    const hear = () => {
      if (told) process.exit(130)
      told = true
      resolve()
    }
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, hear)
  })
}
