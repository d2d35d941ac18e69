import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'
import { PortTaken } from '../transport/link.ts'

/** Where something will be listened on, and the variables of the environment that move it. */
export interface Place {
  host: string
  /** 0: any free one */
  port: number
  variable: string
  hostVariable: string
}

/** Places that nobody else may listen on while this lasts. */
export interface Held {
  /** by place; where any was wanted, one that is free */
  ports: number[]
  release(): void
}

/**
 * Claims places for this process and its workers: each is tried, then a name of its own is held. The engine shares a port with
 * whoever asks in the same way, and a place is free while its owner pauses, so the port itself tells nobody that it is taken.
 * Rejects with {@link PortTaken}. Elsewhere than on Linux, which alone has abstract names, a place is only tried.
 */
export async function hold(places: readonly Place[]): Promise<Held> {
  const names: Server[] = []
  const release = () => {
    for (const name of names) name.close()
  }
  const ports: number[] = []
  try {
    for (const place of places) {
      const { address, port } = await tried(place)
      ports.push(port)
      if (process.platform === 'linux') names.push(await named(place, `${address}:${port}`))
    }
  } catch (error) {
    release()
    throw error
  }
  return { ports, release }
}

/** Listens and stops again, which fails where anybody listens. */
async function tried({ host, port, variable, hostVariable }: Place): Promise<AddressInfo> {
  try {
    const server = await listening({ host, port })
    const found = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    return found
  } catch (cause) {
    throw new PortTaken(`cannot listen on ${host} port ${port}: set ${variable} or ${hostVariable}`, {
      cause,
    })
  }
}

/** bytes of an abstract name, unix(7): filled up, because not every version of the runtime cuts it at the same place */
const nameLength = 108

async function named({ host, port, variable, hostVariable }: Place, which: string): Promise<Server> {
  try {
    const server = await listening({ path: `\0svc-edge-gateway ${which}`.padEnd(nameLength, '\0') })
    server.unref()
    return server
  } catch (cause) {
    throw new PortTaken(
      `cannot listen on ${host} port ${port}, which another gateway has: set ${variable} or ${hostVariable}`,
      { cause },
    )
  }
}

const listening = (where: ListenOptions): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', reject)
    server.listen({ ...where, exclusive: true }, () => resolve(server))
  })
