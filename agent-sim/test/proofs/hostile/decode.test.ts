import { svc } from '@svc/proto'
import { describe, expect, it } from 'vitest'
import { Frames } from './frames.ts'
import { fateOf } from './model.ts'

describe('the proof’s own decoder', () => {
  it('says of mutated frames what the product’s says, by another way', () => {
    const frames = new Frames(11)
    const count = 10_000
    let decoded = 0
    const others: string[] = []
    for (let n = 0; n < count; n++) {
      const { bytes, said, mutation } = frames.next()
      const ours = said ? ((said['body'] as string | undefined) ?? 'none') : 'broken'
      const theirs = theirWord(bytes)
      if (ours !== theirs) others.push(`${mutation}: ${ours}, not ${theirs}: ${bytes.toString('hex')}`)
      if (said) decoded++
    }
    expect(others).toEqual([])
    expect(decoded / count).toBeGreaterThan(0.3)
    expect(decoded / count).toBeLessThan(0.9)
  })

  it('gives the same frames for the same seed, and others for another', () => {
    const first = (seed: number) => {
      const frames = new Frames(seed)
      return Array.from({ length: 50 }, () => frames.next().bytes.length)
    }
    expect(first(3)).toEqual(first(3))
    expect(first(3)).not.toEqual(first(4))
  })
})

describe('the model', () => {
  it('tells a frame too large, and a heartbeat that is', () => {
    const heartbeat = { body: 'heartbeat', heartbeat: {} }
    expect(fateOf(heartbeat, 20, 'mqtt')).toEqual({ kind: 'kept', answered: true })
    expect(fateOf(heartbeat, 16 * 1024 + 1, 'mqtt')).toEqual({ kind: 'closed', reason: 'OVERSIZED_FRAME' })
    expect(fateOf({}, 4 * 1024 * 1024 + 1, 'mqtt')).toEqual({ kind: 'closed', reason: 'OVERSIZED_FRAME' })
  })
})

const theirWord = (bytes: Buffer): string => {
  try {
    return svc.v1.Envelope.decode(bytes).body ?? 'none'
  } catch {
    return 'broken'
  }
}
