/** The ways to a gateway: WebSocket, MQTT over TCP or TLS, MQTT over WebSocket. */
export const transportKinds = ['websocket', 'mqtt', 'mqtt-ws'] as const
export type TransportKind = (typeof transportKinds)[number]

const byScheme: Record<string, TransportKind> = {
  'mqtt:': 'mqtt',
  'mqtts:': 'mqtt',
  'ws:': 'websocket',
  'wss:': 'websocket',
}

/** What is spoken at a gateway's URL: its scheme says so, and over WebSocket its path. Undefined for anything else. */
export function kindOf(url: string): TransportKind | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, pathname } = new URL(url)
  const kind = byScheme[protocol]
  return kind === 'websocket' && /^\/mqtt\/?$/.test(pathname) ? 'mqtt-ws' : kind
}

/** Those of the URLs at which it is spoken. */
export const urlsOf = (kind: TransportKind, urls: readonly string[]): string[] =>
  urls.filter((url) => kindOf(url) === kind)
