import { expect, vi } from 'vitest'

/** For tests with processes and sockets that are not of whole programs: a busy machine takes its time. */
export const patient = () => vi.setConfig({ testTimeout: 40_000 })

/** An expectation of what comes to be, sooner or later. */
export const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 45_000, interval: 10 })
