import { svc } from '@svc/proto'
import { expect } from 'vitest'
import type { CommandView } from '../harness/api.ts'
import type { Stage } from './stage.ts'

/** Bytes as `printf` of any shell writes them. */
const printed = (bytes: Buffer): string =>
  `printf '${[...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}'`

const mebibyte = 1024 * 1024

/** What programs of other systems print, and what of it must be seen in the text that people are shown. */
export const hostileBytes: Record<string, { bytes: Buffer; shown: RegExp; exact: boolean }> = {
  'Cyrillic in CP866': {
    bytes: Buffer.from([0x8f, 0xe0, 0xa8, 0xa2, 0xa5, 0xe2, 0x0a]),
    shown: /\ufffd/,
    exact: false,
  },
  'Western text in CP1252': {
    bytes: Buffer.from([0x93, 0x64, 0xe9, 0x6a, 0xe0, 0x94, 0x0a]),
    shown: /\ufffdd\ufffdj/,
    exact: false,
  },
  'UTF-16LE with a BOM': {
    bytes: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('wörse\r\n', 'utf16le')]),
    shown: /^wörse\r\n$/,
    exact: true,
  },
  'UTF-16LE with a lone surrogate': {
    bytes: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from([0x00, 0xd8, 0x41, 0x00])]),
    shown: /\ufffd/,
    exact: false,
  },
  'a lone 0xFF': { bytes: Buffer.from([0x61, 0xff, 0x62]), shown: /^a\ufffdb$/, exact: false },
  'NUL bytes': { bytes: Buffer.from('a\0b\0'), shown: /^a\0b\0$/, exact: true },
  'surrogates written as UTF-8': {
    bytes: Buffer.from([0xed, 0xa0, 0x80, 0x21]),
    shown: /\ufffd.*!$/,
    exact: false,
  },
}

const kept = async ({ system }: Stage, id: string) => {
  const [row] = await system.sql<{ stdout: Buffer }[]>`select stdout from commands where id = ${id}`
  return row?.stdout
}

/** Through the agent of this machine and a real shell: the bytes are kept as they are, shown as honestly as can be, and all there. */
export async function throughTheShell(stage: Stage): Promise<void> {
  const { deviceId } = stage.host
  const all = Object.entries(hostileBytes).map(async ([name, { bytes, shown, exact }]) => {
    const id = await stage.script(deviceId, printed(bytes))
    const view = await stage.api.ended(deviceId, id)
    expect(view, name).toMatchObject({
      status: 'succeeded',
      stdout: { size: bytes.length, truncated: false },
    })
    expect(await kept(stage, id), name).toEqual(bytes)
    expect(view.stdout?.text, name).toMatch(shown)
    if (!exact) expect(Buffer.from(view.stdout?.base64 ?? '', 'base64'), name).toEqual(bytes)
  })
  await Promise.all(all)
}

/** Twenty megabytes: the first of them are kept, and that there was more is said. */
export async function twentyMegabytes(stage: Stage): Promise<void> {
  const { deviceId } = stage.host
  const size = 20 * 1000 * 1000
  const id = await stage.script(deviceId, `head -c ${size} /dev/zero | tr '\\0' 'x'`)
  const view = await stage.api.ended(deviceId, id)
  expect(view).toMatchObject({ status: 'succeeded', stdout: { size, truncated: true } })
  expect(view.stdout?.text === 'x'.repeat(mebibyte)).toBe(true)
}

/** What no decent agent says, over each transport: it is kept within its limits, and what cannot be kept is visibly replaced. */
export async function fromBadAgents(stage: Stage, via: 'websocket' | 'mqtt'): Promise<void> {
  const voice = await stage.voice(via)
  const { deviceId } = voice
  const answer = async (type: string, said: svc.v1.ICommandResult): Promise<CommandView> => {
    const payload = type === 'run_script' ? { interpreter: 'sh', content: 'echo' } : {}
    const id = await stage.api.send(deviceId, type, payload)
    stage.accepted.push({ id, deviceId })
    stage.effects.push({ commandId: id, deviceId })
    await voice.offered(id)
    voice.say({ commandResult: { commandId: id, attempt: 1, outcome: svc.v1.Outcome.SUCCEEDED, ...said } })
    return stage.api.ended(deviceId, id)
  }
  const data = Buffer.alloc(mebibyte + 500_000, 0xff)
  const much = await answer('run_script', {
    stdout: { data, encoding: 'utf-8', originalSize: 3 },
    stderr: { data: Buffer.from([0xff]), encoding: 'no\0such', originalSize: Number.MAX_SAFE_INTEGER },
    error: 'a\0b',
  })
  expect(much.stdout).toMatchObject({ size: data.length, truncated: true })
  // Compared here: the matchers would take seconds for a megabyte, in which nothing else in this process gets its turn.
  expect(much.stdout?.text === '\ufffd'.repeat(mebibyte)).toBe(true)
  expect(Buffer.from(much.stdout?.base64 ?? '', 'base64').equals(data.subarray(0, mebibyte))).toBe(true)
  expect(much.stderr).toMatchObject({ size: Number.MAX_SAFE_INTEGER, text: '\ufffd' })
  expect(much.error).toBe('a\ufffdb')
  const process = {
    pid: 1,
    parentPid: 0,
    name: 'x\0y',
    commandLine: '\ud800 lone',
    user: 'root',
    state: 'S',
    cpuPercent: 0,
    ramBytes: 0,
    startedAt: null,
  }
  const result = Buffer.from(JSON.stringify({ processes: [process], total: 1, page: 1, limit: 50 }))
  const listed = await answer('list_processes', { result })
  expect(listed.result).toMatchObject({ processes: [{ name: 'x\ufffdy', commandLine: '\ufffd lone' }] })
  const wrong = await answer('list_processes', { result: Buffer.from([0xff, 0x7b]) })
  expect([wrong.result, wrong.error]).toEqual([null, expect.stringContaining('not JSON')])
}
