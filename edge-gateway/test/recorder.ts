import type { Doorway, Greeting, Handlers, Link } from '../src/transport/link.ts'

/** A doorway that keeps what happens, one record per connection. */
export class Recorder implements Doorway {
  readonly connections: {
    link: Link
    greeting: Greeting
    frames: Uint8Array[]
    gone: string[]
    rooms: number
  }[] = []
  readonly rejections: number[] = []
  readonly strays: string[] = []
  readonly errors: unknown[] = []
  admits: true | 503 = true
  onFrame: (link: Link, frame: Uint8Array) => void = () => {}

  open = () => this.admits
  knocks: string[] = []
  /** whose address has not too many */
  welcomes: (address: string) => boolean = () => true

  knock = (address: string) => {
    this.knocks.push(address)
    return this.welcomes(address)
  }
  rejected = (status: number) => void this.rejections.push(status)
  strayed = (reason: string) => void this.strays.push(reason)
  failed = (error: unknown) => void this.errors.push(error)
  health = (path: string) => ({ status: path === '/health' ? 200 : 503, body: { path } })

  accept = (link: Link, greeting: Greeting): Handlers => {
    const record = { link, greeting, frames: [] as Uint8Array[], gone: [] as string[], rooms: 0 }
    this.connections.push(record)
    let admitted = link.via === 'websocket'
    return {
      frame: (bytes) => {
        if (!admitted) {
          // The Hello that a CONNECT stands for.
          admitted = true
          return link.admitted()
        }
        record.frames.push(bytes)
        this.onFrame(link, bytes)
      },
      room: () => {
        record.rooms++
      },
      gone: (reason) => void record.gone.push(reason),
    }
  }
}
