import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { flawsOf } from '../../../tools/log/lines.ts'
import { Out } from './out.ts'

/** A pipe that takes so many bytes, and then none. */
function pipe(room: number) {
  const taken: string[] = []
  const full = Object.assign(new Error('full'), { code: 'EAGAIN' })
  const state = { room, broken: false }
  const write = (bytes: string | Uint8Array) => {
    if (state.broken) throw Object.assign(new Error('gone'), { code: 'EPIPE' })
    const all = Buffer.from(bytes as string)
    if (state.room === 0) throw full
    const part = all.subarray(0, state.room)
    state.room -= part.length
    taken.push(part.toString('latin1'))
    return part.length
  }
  return { state, write, text: () => Buffer.from(taken.join(''), 'latin1').toString() }
}

const numbers = () => ({ stalled: 0, gone: 0 })

test('what a pipe takes in parts, or later, arrives whole and in order', async () => {
  const sink = pipe(7)
  const out = new Out(sink, { lost: numbers() })
  for (const line of ['ä first\n', 'second\n', 'third ✓\n']) out.write(line)
  expect(out.held).toBeGreaterThan(0)
  sink.state.room = 3
  await sleep(20)
  sink.state.room = 1_000
  await expect.poll(() => out.held).toBe(0)
  expect(sink.text()).toBe('ä first\nsecond\nthird ✓\n')
})

test('what is held is bounded, and counted; security events have room of their own; afterwards it says how many are missing', async () => {
  const sink = pipe(0)
  const [lost, missing] = [numbers(), [] as number[]]
  const resumed = (lines: number) => missing.push(lines)
  const out = new Out(sink, { lost, resumed, bytes: 100, reserve: 100 })
  for (let i = 0; i < 30; i++) out.write('123456789\n')
  expect([out.held, lost.stalled]).toEqual([100, 20])
  for (let i = 0; i < 30; i++) out.write('{"security":true}\n')
  expect([out.held, lost.stalled]).toEqual([190, 45])
  sink.state.room = 1_000
  await expect.poll(() => missing).toEqual([45])
  expect(sink.text().match(/security/g)).toHaveLength(5)
})

test('a reader that is gone is no error, and is counted', () => {
  const sink = pipe(1_000)
  const lost = numbers()
  const out = new Out(sink, { lost })
  sink.state.broken = true
  for (let i = 0; i < 3; i++) out.write('x\n')
  out.flush(0)
  expect([lost.gone, out.held]).toEqual([3, 0])
})

interface State {
  turns: number
  longest: number
  rss: number
  lost: number
}

/** A program that logs into a pipe which nobody reads: of a shell, so that it is a pipe, or of Node, which makes it a socket. */
function talker(kind: 'pipe' | 'socket'): ChildProcess {
  const command = [process.execPath, '--import', 'tsx', join(import.meta.dirname, '../../test/log/talker.ts')]
  const args = kind === 'pipe' ? ['sh', '-c', '"$@" | { cat <&3; exec cat; }', 'sh', ...command] : command
  const child = spawn(args[0] ?? '', args.slice(1), {
    stdio: ['ignore', 'pipe', 'inherit', kind === 'pipe' ? 'pipe' : 'ignore', 'ipc'],
    env: { ...process.env, ...(kind === 'pipe' && { NODE_CHANNEL_FD: '4' }) },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const ask = async (child: ChildProcess, what: string): Promise<State> => {
  child.send(what)
  const [state] = (await once(child, 'message')) as [State]
  return state
}

test.each(['pipe', 'socket'] as const)(
  'a %s that nobody reads stops nothing and costs bounded memory; what was held comes when it is read',
  { timeout: 60_000 },
  async (kind) => {
    const child = talker(kind)
    await expect.poll(async () => (await ask(child, 'state')).lost).toBeGreaterThan(0)
    const before = await ask(child, 'state')
    // It goes on, and loses more; who waited for a reader would not take another turn.
    await expect.poll(async () => (await ask(child, 'state')).turns - before.turns).toBeGreaterThan(20)
    await expect.poll(async () => (await ask(child, 'state')).lost - before.lost).toBeGreaterThan(1_000)
    const after = await ask(child, 'state')
    expect(after.longest).toBeLessThan(3_000)
    expect(after.rss - before.rss).toBeLessThan(40 * 1024 * 1024)
    await ask(child, 'quiet')
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk))
    child.stdio[3]?.destroy()
    await expect.poll(() => text.includes('"event":"log.lost"')).toBe(true)
    expect(flawsOf(text)).toEqual([])
    expect(text).toContain('"event":"authorization.denied"')
    child.send('last')
    await expect.poll(() => text.includes('last words')).toBe(true)
  },
)
