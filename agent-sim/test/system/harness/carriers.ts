import type { Mix } from '@svc/agent-sim'

/** What carries a system's work: the bus between its processes, and the transport to its agents. */
export interface Carrier {
  name: string
  /** what its devices' names begin with */
  key: string
  /** as many as prove the point */
  agents: number
  transports: Mix
  /** where its agents connect at the first gateway */
  url(system: { gatewayUrls: readonly string[]; mqttUrls: readonly string[] }): string
}

/** Those that the main job is proven over, on one system at the same time. */
export const carriers: readonly Carrier[] = [
  {
    name: 'redis+uws',
    key: 'uws',
    agents: 48,
    transports: { websocket: 1 },
    url: ({ gatewayUrls }) => gatewayUrls[0] ?? '',
  },
  {
    name: 'redis+mqtt',
    key: 'mqtt',
    agents: 12,
    transports: { mqtt: 2, 'mqtt-ws': 1 },
    url: ({ mqttUrls }) => mqttUrls[0] ?? '',
  },
]
