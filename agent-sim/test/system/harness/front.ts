import { connect, createServer, type Server, type Socket } from 'node:net'

/** An address that agents know, and behind it whichever gateway is wanted now. */
export interface Front {
  readonly port: number
  /** From now on connections lead there; those that are open are cut. */
  leadTo(port: number): void
  close(): Promise<void>
}

export async function openFront(port: number): Promise<Front> {
  const open = new Set<Socket>()
  let target = 0
  const server: Server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port,
    leadTo: (next) => {
      target = next
      cut()
    },
    close: () => {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
