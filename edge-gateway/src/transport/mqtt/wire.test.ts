import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../../test/harness.ts'
import {
  connectPacket,
  down,
  pingreq,
  publishPacket,
  subscribePacket,
  up,
} from '../../../test/mqtt/client.ts'
import { Recorder } from '../../../test/recorder.ts'
import { newDevice } from '../../../test/wire.ts'
import { MqttDoor } from './door.ts'
import type { Pipe, Receiver } from './pipe.ts'

/** A pipe whose other end reads when it is told to. */
class SlowPipe implements Pipe {
  receiver: Receiver | undefined
  reads = true
  paused = false
  readonly written: Uint8Array[] = []
  readonly ended: string[] = []
  #done: () => void = () => {}

  write(bytes: Uint8Array, done: () => void): void {
    this.written.push(bytes)
    if (this.reads) done()
    else this.#done = done
  }

  read(): void {
    this.reads = true
    this.#done()
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  end(reason: string): void {
    this.ended.push(reason)
  }

  destroy(): void {
    this.ended.push('at once')
  }
}

const device = newDevice()
const portion = 64
let door: MqttDoor
let pipe: SlowPipe
let side: Recorder['connections'][number]
beforeEach(async () => {
  door = new MqttDoor({
    helloWithinMs: 5_000,
    maxStrangers: 1,
    maxBacklogBytes: 1_000,
    maxUnacknowledged: 64,
  })
  const doorway = new Recorder()
  await door.start(doorway)
  pipe = new SlowPipe()
  door.take(pipe, '')
  pipe.receiver?.arrived(Buffer.concat([connectPacket(device), subscribePacket(down(device))]))
  await until(() => pipe.written.length === 2)
  side = doorway.connections[0] as typeof side
})
afterEach(() => door.close())

const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise(setImmediate)
}

it('a peer that does not read the answers is read no further than a few of them', async () => {
  pipe.reads = false
  pipe.receiver?.arrived(Buffer.concat(Array.from({ length: 8_000 }, () => pingreq)))
  await turns(200)
  expect(pipe.paused).toBe(true)
  expect(side.link.backlog).toBeLessThan(4_096 + 4 * portion * pingreq.length)
  pipe.read()
  await until(() => Buffer.concat(pipe.written).length > 8_000 * pingreq.length)
  expect(pipe.paused).toBe(false)
})

it('whoever cannot be asked to pause may bring a frame and some, and no more', async () => {
  pipe.reads = false
  const flood = Buffer.concat(Array.from({ length: 512 * 1024 }, () => pingreq))
  for (let n = 0; n < 8 && side.gone.length === 0; n++) pipe.receiver?.arrived(Buffer.from(flood))
  expect([side.gone, pipe.ended]).toEqual([['BACKPRESSURE'], ['at once']])
})

it('an end waits for what was written before it, and not for ever', async () => {
  pipe.reads = false
  side.link.send(Buffer.alloc(10))
  side.link.close('QUARANTINED')
  await turns(10)
  expect(pipe.ended).toEqual([])
  pipe.read()
  expect(pipe.ended).toEqual(['QUARANTINED'])
})

it('what is said behind the end of a connection is not heard', async () => {
  const heartbeat = publishPacket(up(device), Buffer.of(1))
  pipe.receiver?.arrived(heartbeat)
  await until(() => side.frames.length === 1)
  side.link.close('SUPERSEDED')
  pipe.receiver?.arrived(Buffer.concat([heartbeat, pingreq]))
  const { length } = pipe.written
  await turns(10)
  expect([side.frames.length, side.gone, pipe.written.length]).toEqual([1, [], length])
})
