import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { CertificateUnusable, type Doorway, type Listening, type TlsFiles, type Transport } from '../link.ts'
import { MqttDoor, type MqttOptions } from './door.ts'
import { Listener } from './listener.ts'

export interface MqttTransportOptions extends MqttOptions {
  host: string
  /** for MQTT in the clear; 0: any free one, undefined: none */
  port: number | undefined
  /** for MQTT over TLS, where there is a certificate */
  tlsPort: number | undefined
  tls: TlsFiles | undefined
  trusted: (address: string) => boolean
}

/** MQTT 3.1.1: over TCP and TLS on ports of its own, and, through its door, over the WebSockets of another transport. */
export class MqttTransport implements Transport {
  readonly door: MqttDoor
  readonly #options: MqttTransportOptions
  #listeners: Listener[] = []
  #closed = false

  constructor(options: MqttTransportOptions) {
    this.#options = options
    this.door = new MqttDoor(options)
  }

  async listen(doorway: Doorway): Promise<Listening> {
    await this.door.start(doorway)
    this.#listeners = this.#makeListeners(doorway)
    await this.resume()
    const urls = this.#listeners.map(({ url }) => url)
    return { url: urls[0] ?? '', mqtt: urls }
  }

  pause(): void {
    for (const listener of this.#listeners) listener.pause()
  }

  async resume(): Promise<void> {
    for (const listener of this.#listeners) await listener.resume()
  }

  stop(): void {
    for (const listener of this.#listeners) listener.stop()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const listener of this.#listeners) listener.close()
    this.door.close()
  }

  #makeListeners(doorway: Doorway): Listener[] {
    const { host, port, tlsPort, tls, trusted, helloWithinMs, maxStrangers } = this.#options
    const shared = {
      door: this.door,
      host,
      trusted,
      withinMs: helloWithinMs,
      maxBeginning: maxStrangers,
      knock: (address: string) => doorway.knock(address),
      rejected: (status: 429 | 503) => doorway.rejected(status),
      failed: (error: unknown) => doorway.failed(error),
    }
    const plain = { ...shared, variables: 'MQTT_PORT or MQTT_HOST', secure: undefined }
    const secure = { ...shared, variables: 'MQTTS_PORT or MQTT_HOST', secure: tls && contextOf(tls) }
    return [
      ...(port === undefined ? [] : [new Listener({ ...plain, port })]),
      ...(tlsPort === undefined || !tls ? [] : [new Listener({ ...secure, port: tlsPort })]),
    ]
  }
}

const contextOf = ({ certFile, keyFile }: TlsFiles) => {
  try {
    return createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
  } catch (cause) {
    throw new CertificateUnusable(certFile, keyFile, cause)
  }
}
