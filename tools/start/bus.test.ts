import { describe, expect, it } from 'vitest'
import { chooseCarrier } from './bus.ts'

const one = { gatewayWorkers: '1', bus: undefined }

describe('what carries messages', () => {
  it('is the Redis that is named, or one of our own, or memory', () => {
    expect(chooseCarrier(one, { url: 'redis://there', command: '/bin/redis' })).toEqual({
      url: 'redis://there',
    })
    expect(chooseCarrier(one, { command: '/bin/redis' })).toEqual({ command: '/bin/redis' })
    expect(chooseCarrier(one, {})).toBe('memory')
    expect(chooseCarrier({ ...one, bus: 'memory' }, { url: 'redis://there', command: '/bin/redis' })).toBe(
      'memory',
    )
  })

  it('is refused where it cannot be had, before anything is started', () => {
    expect(() => chooseCarrier({ ...one, bus: 'redis' }, {})).toThrow('no redis-server')
    for (const gatewayWorkers of ['2', 'auto'])
      expect(() => chooseCarrier({ ...one, gatewayWorkers }, {})).toThrow('needs redis')
  })
})
