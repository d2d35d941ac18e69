import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { renumberedAgent } from '../../../../tools/compat/altered.ts'
import { baseCommit, hasCommit } from '../../../../tools/compat/base.ts'
import { held, hello, idle } from '../../system/harness/pairs.ts'
import { folderOf, meet, type Version, versions } from '../../system/harness/versions.ts'
import { none, type Row } from '../verdict.ts'
import type { Fault } from './fault.ts'
import type { Scene } from './scene.ts'

const plantedPatienceMs = 5_000

/** Control planes, gateways and agents of this version and of the one before, in every pair. What `compat.e2e` does at more length. */
export const versionSkew: Fault = {
  id: 'F15',
  fault: 'rolling version skew',
  expected: 'agents of both versions work in all four pairs of gateway and control plane',
  ownPostgres: true,
  plant: {
    guard: 'numbers of fields that stay: today’s agent says results in another',
    noticed: /do not do what they are told/,
  },
  run: async (scene) => {
    if (!hasCommit(baseCommit())) throw new Error(`needs git history of ${baseCommit()}`)
    if (scene.planted) return [await renumbered(scene)]
    const rows: Row[] = []
    for (const version of versions) rows.push(...(await pairsOf(scene, version)))
    return rows
  },
}

const what = (plane: Version, gateway: Version) =>
  `agents of both that do not do what they are told: control plane of ${plane}, gateway of ${gateway}`

async function pairsOf({ postgres }: Scene, plane: Version): Promise<Row[]> {
  const meeting = await meet(plane, () => postgres.another())
  const rows: Row[] = []
  try {
    for (const of of versions) await meeting.startAgents(of, await folderOf(of))
    for (const gateway of ['today', 'base'] as const) {
      meeting.front.leadTo(meeting.gatewayPort[gateway])
      await held(meeting, gateway)
      rows.push(none(what(plane, gateway), await idle(meeting)))
    }
  } finally {
    await meeting.close()
  }
  return rows
}

async function renumbered({ postgres }: Scene): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-altered-'))
  const meeting = await meet('today', () => postgres.another())
  try {
    await renumberedAgent(folder)
    await meeting.startAgents('renumbered', folder)
    const hostname = 'renumbered-WS-00001'
    const said = await hello(meeting, hostname, plantedPatienceMs)
    return none(what('today', 'today'), said === `hello ${hostname}` ? [] : [`${hostname} said ${said}`])
  } finally {
    await meeting.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
