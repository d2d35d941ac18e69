import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, ResultFile } from './contract.ts'
import { missing } from './judge.ts'
import { commit, machine } from './machine.ts'
import type { Progress } from './progress.ts'
import { Rounds } from './rounds.ts'
import type { Undo } from './undo.ts'

export interface RunOptions {
  quick: boolean
  rounds: number
  scale: number
  progress: Progress
  /** what the bench starts; run by the caller, whatever happens */
  undo: Undo
}

const root = join(import.meta.dirname, '../../..')

/** Runs a bench. Rejects where it fails, and where it left out a figure that it declares: half a result would pass for a whole one. */
export async function runBench(bench: Bench, options: RunOptions): Promise<ResultFile> {
  const { quick, rounds, scale, progress, undo } = options
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  undo.add(() => rmSync(folder, { recursive: true, force: true }))
  const startedAt = new Date()
  const kept = new Rounds()
  await bench.run({
    quick,
    rounds,
    scale,
    folder,
    progress: (line) => progress.show(line),
    saw: kept.saw,
    peer: kept.peer,
    afterwards: (step) => undo.add(step),
  })
  const absent = missing(bench.figures, kept.rounds, kept.peers)
  if (absent.length > 0) throw new Error(absent.join('\n'))
  return {
    format: 1,
    bench: bench.name,
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
    commit: commit(root),
    machine: machine(),
    quick,
    noisy: kept.noisy(),
    peers: kept.peers,
    measures: bench.measures,
    figures: bench.figures,
    rounds: kept.rounds,
  }
}
