/**
 * Runs until it ends, the time is over, or one of the signals says stop. What it began is told by its own signal.
 *
 * @param late what is thrown when the time is over
 * @throws the reason of the signal that said stop
 */
export async function within<T>(
  ms: number,
  late: () => Error,
  signals: readonly (AbortSignal | undefined)[],
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const { signal } = controller
  const timer = setTimeout(() => controller.abort(late()), ms)
  const unhook = signals.map((outer) => {
    const stop = () => controller.abort(outer?.reason)
    if (outer?.aborted) stop()
    outer?.addEventListener('abort', stop, { once: true })
    return () => outer?.removeEventListener('abort', stop)
  })
  try {
    signal.throwIfAborted()
    return await Promise.race([run(signal), aborted(signal)])
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
    for (const each of unhook) each()
  }
}

/** Never resolves. @throws the reason of the signal */
const aborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
