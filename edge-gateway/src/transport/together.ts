import type { Doorway, Listening, Transport } from './link.ts'

/** Several transports into one doorway, as one. The first says where agents connect and by which engine. */
export function together(first: Transport, ...others: readonly Transport[]): Transport {
  const all = [first, ...others]
  return {
    ...(first.engine ? { engine: first.engine } : {}),
    async listen(doorway: Doorway): Promise<Listening> {
      const found: Listening[] = []
      for (const transport of all) found.push(await transport.listen(doorway))
      return { url: found[0]?.url ?? '', mqtt: found.toReversed().flatMap(({ mqtt = [] }) => mqtt) }
    },
    pause: () => all.forEach((transport) => transport.pause()),
    async resume(): Promise<void> {
      for (const transport of all) await transport.resume()
    },
    stop: () => all.forEach((transport) => transport.stop()),
    // Whoever leads connections of others' must end them before those do.
    close: () => all.toReversed().forEach((transport) => transport.close()),
  }
}
