import { createServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Publisher, publishCommand } from './publisher.ts'

let server: Server | undefined
afterEach(() => server?.close())

/** A server that answers all that it gets with those pieces, one after another. */
async function answering(...pieces: string[]): Promise<Publisher> {
  const made = createServer((socket) => {
    socket.on('data', () => {
      for (const piece of pieces) socket.write(piece)
    })
  })
  server = made
  await new Promise<void>((done) => made.listen(0, '127.0.0.1', done))
  return Publisher.connect(`redis://127.0.0.1:${(made.address() as { port: number }).port}`)
}

describe('who publishes', () => {
  it('says PUBLISH as Redis reads it, with bytes as they are', () => {
    const command = publishCommand('edge:é', Uint8Array.of(0, 13, 10, 255))
    const head = Buffer.from('*3\r\n$7\r\nPUBLISH\r\n$7\r\nedge:é\r\n$4\r\n')
    expect(command).toEqual(Buffer.concat([head, Buffer.of(0, 13, 10, 255, 13, 10)]))
  })

  it('is done when each message was heard, however the answers are cut', async () => {
    const publisher = await answering(':1\r', '\n:1\r\n:', '1\r\n')
    await expect(publisher.send(Buffer.from('x'), 3)).resolves.toBeUndefined()
    publisher.close()
  })

  it.each([
    [':0', ':0\r\n'],
    ['-ERR', '-ERR unknown\r\n'],
  ])('fails where nobody has heard it: %s', async (_, answer) => {
    const publisher = await answering(answer)
    await expect(publisher.send(Buffer.from('x'), 1)).rejects.toThrow(/instead of ":1"/)
    publisher.close()
  })
})
