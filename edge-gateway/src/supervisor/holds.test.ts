import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { hold } from './holds.ts'

const place = (port: number) => ({
  host: '127.0.0.1',
  port,
  variable: 'GATEWAY_PORT',
  hostVariable: 'GATEWAY_HOST',
})
const refusal = (port: number) =>
  `cannot listen on 127.0.0.1 port ${port}, which another gateway has: set GATEWAY_PORT or GATEWAY_HOST`

it.runIf(process.platform === 'linux')(
  'a place is held while nobody listens there, until it is given up',
  async () => {
    const first = await hold([place(0)])
    const [port = 0] = first.ports
    await expect(hold([place(0), place(port)])).rejects.toThrow(refusal(port))
    first.release()
    const second = await hold([place(port)])
    expect(second.ports).toEqual([port])
    second.release()
  },
)

it('a place that somebody listens on is refused, and none of the others stays held', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as { port: number }
  const free = await hold([place(0)])
  free.release()
  const [other = 0] = free.ports
  await expect(hold([place(other), place(port)])).rejects.toThrow(
    `cannot listen on 127.0.0.1 port ${port}: set GATEWAY_PORT or GATEWAY_HOST`,
  )
  ;(await hold([place(other)])).release()
  taken.close()
})
