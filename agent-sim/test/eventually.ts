import { expect, vi } from 'vitest'

/** For tests with processes and sockets, wherever they are: a busy machine takes its time, as long as the tests of whole programs have. */
export const patient = () => vi.setConfig({ testTimeout: 240_000 })

/** An expectation of what comes to be, sooner or later. */
export const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 45_000, interval: 10 })
