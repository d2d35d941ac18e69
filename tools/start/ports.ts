import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Expected, type StartOptions } from './options.ts'

/** A port that will be listened on, with the switch and the variable that move it. */
export interface Wanted {
  port: number
  host: string
  what: string
  change: string
}

/** Throws in one line when one of the ports is taken; waits up to `withinMs` for one that is being given up. */
export async function requireFree(wanted: readonly Wanted[], withinMs: number): Promise<void> {
  const patience = Date.now() + withinMs
  for (const { port, host, what, change } of wanted) {
    const twin = wanted.find((other) => other.port === port && other.what !== what)
    if (twin && port !== 0)
      throw new Expected(`Port ${port} is wanted twice, for the ${what} and the ${twin.what}: ${change}`)
    for (;;) {
      const refusal = await tryListen(port, host)
      if (!refusal) break
      if (refusal !== 'EADDRINUSE')
        throw new Expected(`The ${what} cannot listen on ${host} port ${port} (${refusal}): ${change}`)
      if (Date.now() > patience) throw new Expected(`Port ${port} of the ${what} is in use: ${change}`)
      await sleep(100)
    }
  }
}

function tryListen(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/** The ports that a start listens on. */
export function portsOf(options: StartOptions) {
  const { host, port, gatewayPort, mqttPort, internalPort, metricsPort, gatewayMetricsPort } = options
  const local = '127.0.0.1'
  const change = (name: string, variable: string) => `choose another with --${name} or ${variable}`
  return [
    { port, host, what: 'API', change: change('port', 'PORT') },
    { port: gatewayPort, host, what: 'gateway', change: change('gateway-port', 'GATEWAY_PORT') },
    ...(mqttPort === 'off'
      ? []
      : [{ port: mqttPort, host, what: 'gateway for MQTT', change: change('mqtt-port', 'MQTT_PORT') }]),
    {
      port: internalPort,
      host: local,
      what: 'internal exchange',
      change: change('internal-port', 'INTERNAL_PORT'),
    },
    {
      port: metricsPort,
      host: local,
      what: 'control plane’s metrics',
      change: change('metrics-port', 'METRICS_PORT'),
    },
    {
      port: gatewayMetricsPort,
      host: local,
      what: 'gateway’s metrics',
      change: change('gateway-metrics-port', 'GATEWAY_METRICS_PORT'),
    },
  ]
}
