import cluster from 'node:cluster'
import type { Gateway } from '../gateway.ts'
import type { FromWorker, ToWorker } from './messages.ts'

const tell = (message: FromWorker): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

/**
 * Has a gateway do what its supervisor says. A supervisor that is gone, by whatever end, takes its workers with it: they drain.
 *
 * @param drain may be called more than once
 * @returns to be called when agents are accepted
 */
export function obey(gateway: Gateway, drain: () => void): () => void {
  process.on('message', ({ kind }: ToWorker) => {
    if (kind === 'drain') return drain()
    void gateway.metrics().then((metrics) => tell({ kind: 'metrics', metrics }))
  })
  cluster.worker?.once('disconnect', () => {
    // Otherwise the process would be ended as soon as this returns.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    drain()
  })
  return () => tell({ kind: 'listening' })
}
