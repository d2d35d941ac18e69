import type { Socket } from 'node:net'
import { openWire } from './wire.ts'

/** A wire to Postgres on which nothing comes through while it is mute: connections stay, and what was said then is lost. */
export interface MutableWire {
  url: string
  mute(mute: boolean): void
  /** answers take so much longer from now on */
  slow(ms: number): void
  connections(): number
  close(): void
}

/** @param url of the database behind it */
export async function mutableWire(url: string): Promise<MutableWire> {
  let [mute, slowMs] = [false, 0]
  const lead = (from: Socket, pass: (chunk: Buffer) => void, to: Socket) =>
    from
      .on('data', (chunk: Buffer) => {
        if (!mute) pass(chunk)
      })
      .on('close', () => to.destroy())
  const wire = await openWire(url, (client, server) => {
    lead(client, (chunk) => server.write(chunk), server)
    const answer = (chunk: Buffer) => void client.write(chunk)
    lead(server, (chunk) => (slowMs > 0 ? setTimeout(answer, slowMs, chunk) : answer(chunk)), client)
  })
  return {
    url: wire.url,
    mute: (wanted) => {
      mute = wanted
    },
    slow: (ms) => {
      slowMs = ms
    },
    connections: () => wire.open.size / 2,
    close: () => wire.close(),
  }
}
