import type { Listening } from './link.ts'

/** As it stands in a URL: RFC 3986 §3.2.2. */
export const hostName = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** What a WebSocket transport says of where it listens. @param mqtt whatever takes MQTT in there, if anything does */
export function listeningAt(scheme: 'ws' | 'wss', host: string, port: number, mqtt: unknown): Listening {
  const place = `${scheme}://${hostName(host)}:${port}`
  return { url: `${place}/agent`, mqtt: mqtt ? [`${place}/mqtt`] : [] }
}
