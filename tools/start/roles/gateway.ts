import { join } from 'node:path'
import { buildGateway, type GatewayConfig, readConfig, Supervisor } from '@svc/edge-gateway'
import { RedisBus } from '@svc/proto/bus'
import { giveUp } from '@svc/proto/log'
import type { Settings, StartRole } from '../child.ts'

/** A gateway in a process of its own, or several of them under a supervisor. */
export const gateway: StartRole = (settings, _news, log) => {
  const config = readConfig(settings)
  return config.workers > 1 ? several(config, settings, log) : one(config)
}

const one = async (config: GatewayConfig) => {
  const bus = new RedisBus(config.redisUrl ?? '')
  const gateway = buildGateway({ config, bus })
  await gateway.listen()
  return {
    ready: {},
    close: async () => {
      await gateway.drain()
      await bus.close()
    },
  }
}

const several = async (config: GatewayConfig, settings: Settings, log: Parameters<StartRole>[2]) => {
  const entry = join(import.meta.dirname, 'gateway.mjs') // the program as bundled, which lies beside this one
  const supervisor = new Supervisor({ config, entry, env: settings })
  const ended = supervisor.ended.then(({ code, line }) => {
    throw new Error(line ?? `no worker of the gateway can start (code ${code}): see logs/gateway.log`)
  })
  await supervisor.start()
  await Promise.race([supervisor.ready, ended])
  // From here on it is a crash, unless it was asked for.
  let closing = false
  ended.catch((error: Error) => {
    if (closing) return
    giveUp({ log }, error, true, 1)
  })
  return {
    ready: {},
    close: () => {
      closing = true
      return supervisor.drain()
    },
  }
}
