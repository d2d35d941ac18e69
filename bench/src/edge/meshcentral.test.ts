import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import type { Ground, Peer } from '../method/contract.ts'
import { installMeshcentral } from '../peers/meshcentral/install.ts'
import { meshcentral } from './meshcentral.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-meshcentral-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => vi.unstubAllEnvs())

/** A ground that keeps which peers it was told of. */
function groundOf(quick: boolean): { ground: Ground; peers: Peer[]; lines: string[] } {
  const [peers, lines]: [Peer[], string[]] = [[], []]
  const ground: Ground = {
    quick,
    rounds: 1,
    scale: 20_000,
    folder,
    progress: (line) => void lines.push(line),
    saw: () => undefined,
    peer: (peer) => void peers.push(peer),
    afterwards: () => undefined,
  }
  return { ground, peers, lines }
}

test('a quick run names it, and goes on without it', async () => {
  const { ground, peers, lines } = groundOf(true)
  expect(await meshcentral(ground)).toBeUndefined()
  expect(peers).toMatchObject([{ name: 'meshcentral', skipped: expect.stringMatching(/^full runs alone/) }])
  expect(lines).toEqual([])
})

test('where npm does not bring it, it is named with the reason, and nothing is left', async () => {
  vi.stubEnv('PATH', folder)
  const { ground, peers, lines } = groundOf(false)
  const place = join(folder, 'peers/meshcentral')
  expect(await meshcentral(ground, (progress) => installMeshcentral(progress, place))).toBeUndefined()
  expect(peers).toMatchObject([{ name: 'meshcentral', skipped: 'it cannot be had: spawn npm ENOENT' }])
  expect(peers[0]?.configuration).toContain('5,000 connections')
  expect(lines).toEqual([expect.stringMatching(/^installing meshcentral 1\./)])
  expect([existsSync(place), readdirSync(join(folder, 'peers'))]).toEqual([false, []])
})
