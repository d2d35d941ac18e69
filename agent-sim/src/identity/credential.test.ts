import { deviceIdOf, tokenHash } from '@svc/proto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Credential, type Tokens } from './credential.ts'

const deviceId = '0199aaaa-0000-7000-8000-000000000001'

/** The server's side, as far as it decides whether a device can come in. */
class Server {
  present: Buffer
  next: Buffer | undefined
  readonly past: Buffer[] = []
  /** a token of an earlier generation was shown */
  alarm = false

  constructor(token: string) {
    this.present = tokenHash(token)
  }

  stage(hash: Uint8Array): void {
    if (!this.present.equals(hash)) this.next = Buffer.from(hash)
  }

  /** Whether a connection with it is let in. */
  show(token: string): boolean {
    const hash = tokenHash(token)
    if (this.next?.equals(hash)) {
      this.past.push(this.present)
      this.present = hash
      this.next = undefined
    }
    if (this.past.some((old) => old.equals(hash))) this.alarm = true
    return this.present.equals(hash)
  }
}

/** Where either side stops, or what is lost on the way. */
const stops = [
  'nowhere',
  'before it is kept',
  'after it is kept',
  'proposal is lost',
  'answer is lost',
  'before it connects',
  'welcome is lost',
  'before that is kept',
] as const
type Stop = (typeof stops)[number]

class Died extends Error {}

/** A device whose process ends at a moment, and begins again from what it kept. */
class Machine {
  disk: Tokens = { deviceToken: 'svca_first' }
  stop: Stop = 'nowhere'
  credential = this.#begin()

  #begin(): Credential {
    return new Credential({
      deviceId,
      ...this.disk,
      keep: async (tokens) => {
        const when = tokens.nextToken ? 'before it is kept' : 'before that is kept'
        if (this.stop === when) throw new Died()
        this.disk = tokens
      },
      now: Date.now,
    })
  }

  restart(): void {
    this.credential = this.#begin()
  }

  /** Connects as an agent does; false: it is out for good. */
  async connect(server: Server): Promise<boolean> {
    while (!server.show(this.credential.token)) if (!this.credential.refused()) return false
    if (this.stop === 'welcome is lost') throw new Died()
    await this.credential.admitted()
    return true
  }

  async renew(server: Server): Promise<void> {
    const hash = await this.credential.propose()
    if (this.stop === 'after it is kept' || this.stop === 'proposal is lost') throw new Died()
    server.stage(hash)
    if (this.stop === 'answer is lost') throw new Died()
    if (this.credential.staged(hash) && this.stop === 'before it connects') throw new Died()
    await this.connect(server)
  }
}

const history = fc.array(fc.constantFrom(...stops), { minLength: 1, maxLength: 30 })

test('wherever either side stops, the device comes in, without an alarm, and holds two tokens at most', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (moments) => {
      const server = new Server('svca_first')
      const machine = new Machine()
      expect(await machine.connect(server)).toBe(true)
      for (const moment of moments) {
        machine.stop = moment
        await machine.renew(server).catch((error: unknown) => {
          if (!(error instanceof Died)) throw error
          machine.restart()
        })
        machine.stop = 'nowhere'
        expect(await machine.connect(server)).toBe(true)
        expect(server.alarm).toBe(false)
        expect(server.present).toEqual(tokenHash(machine.disk.deviceToken))
      }
      await machine.renew(server)
      expect([server.next, machine.disk.nextToken]).toEqual([undefined, undefined])
    }),
  )
})

test('a server that went back to before the renewal is served with the token that it knows', async () => {
  const server = new Server('svca_first')
  const machine = new Machine()
  await machine.renew(server)
  const restored = new Server('svca_first')
  expect(await machine.connect(restored)).toBe(true)
  expect([machine.disk, restored.alarm]).toEqual([{ deviceToken: 'svca_first' }, false])
  await machine.renew(restored)
  expect(deviceIdOf(machine.disk.deviceToken)).toBe(deviceId)
})

test('a copy of the disk from before a renewal is found out, not let in', async () => {
  const server = new Server('svca_first')
  const [machine, copy] = [new Machine(), new Machine()]
  await machine.renew(server)
  expect(await copy.connect(server)).toBe(false)
  expect(server.alarm).toBe(true)
})
