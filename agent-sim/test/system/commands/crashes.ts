import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { hostLedger } from '../harness/checker/ledgers.ts'
import { until } from '../harness/until.ts'
import type { Stage } from './stage.ts'

/**
 * The agent of this machine is killed between its ledger and its report, with one command that runs, one that has ended unheard, and
 * one that had not begun. Brought back it reports the first as interrupted, the second as it ended, and runs the third: each once.
 */
export async function betweenLedgerAndReport(stage: Stage): Promise<void> {
  const { system, host } = stage
  const { deviceId, folder } = host
  const done = (name: string) => join(system.folder, `done-${name}`)
  const times = (name: string) =>
    existsSync(done(name)) ? readFileSync(done(name), 'utf8').split('\n').length - 1 : 0
  const write = (name: string) => `echo x >> ${done(name)}`
  const running = await stage.script(deviceId, `${write('running')}\nsleep 30\n${write('too-late')}`, {
    end: 'interrupted',
  })
  await until('it runs', () => times('running') === 1)
  const second = await stage.script(deviceId, `sleep 1\n${write('ended')}`)
  await stage.becomes(second, 'running')
  system.gateway(0).signal('SIGSTOP')
  try {
    await until('it has ended by its ledger', () => stateIn(folder, deviceId, second) === 'finished')
    expect(await stage.state(second)).toBe('running')
    await host.program.kill()
  } finally {
    system.gateway(0).signal('SIGCONT')
  }
  const third = await stage.script(deviceId, write('waiting'))
  await stage.restartHost()
  await Promise.all([
    stage.becomes(running, 'interrupted'),
    stage.becomes(second, 'succeeded'),
    stage.becomes(third, 'succeeded'),
  ])
  expect(['running', 'ended', 'waiting', 'too-late'].map(times)).toEqual([1, 1, 1, 0])
}

const stateIn = (folder: string, deviceId: string, id: string): string | undefined =>
  hostLedger(folder, deviceId)
    .filter(({ commandId }) => commandId === id)
    .at(-1)?.state
