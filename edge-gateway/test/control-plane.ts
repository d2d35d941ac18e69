import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { svc } from '@svc/proto'
import { type Device, sha256 } from './wire.ts'

/** The control plane's end of the exchange, on a real port: what it knows is set by the test. */
export class ControlPlane {
  readonly profiles = new Map<string, svc.v1.IDeviceProfile>()
  readonly revocations: svc.v1.IRevocation[] = []
  readonly requests: svc.v1.ExchangeRequest[] = []
  readonly key = 'k'.repeat(32)
  /** answers nothing but 503 */
  away = false
  /** of a version that takes what is carried up */
  takesUp = true
  /** cannot commit what is carried up */
  refusesUp = false
  /** those that are carried up wait for it */
  hold: Promise<void> | undefined
  /** what was carried up and committed, encoded */
  readonly up: Uint8Array[] = []
  /** what the next answers bring down */
  readonly messages: Uint8Array[] = []
  /** of its database; 0: it knows of none, as an older one */
  life = 0
  /** the oldest transaction that is not over */
  xact = 0
  /** of the gateways' host */
  clockAheadMs = 0
  url = ''
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.headers.authorization !== `Bearer ${this.key}`) return response.writeHead(401).end()
      if (this.away) return response.writeHead(503).end()
      void this.#serve(svc.v1.ExchangeRequest.decode(Buffer.concat(chunks)), response)
    })
  })

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { port } = this.#server.address() as AddressInfo
    this.url = `http://127.0.0.1:${port}/internal/edge/exchange`
    return this
  }

  knows(device: Device, more: svc.v1.IDeviceProfile = {}): void {
    this.profiles.set(device.id, {
      deviceId: device.id,
      standing: svc.v1.Standing.ACTIVE,
      tokenSha256: sha256(device),
      credentialVersion: 1,
      heartbeatIntervalMs: 60_000,
      ...more,
    })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: svc.v1.ExchangeRequest, response: ServerResponse): Promise<void> {
    this.requests.push(request)
    if (request.up.length > 0) {
      await this.hold
      if (this.refusesUp) return void response.writeHead(503).end()
      if (this.takesUp) this.up.push(...request.up.map(({ batch }) => batch ?? new Uint8Array()))
    }
    response.end(this.#answer(request))
  }

  #answer(request: svc.v1.ExchangeRequest): Uint8Array {
    const { life } = this
    const profiles = request.admissions.map(({ deviceId }) => ({
      ...(this.profiles.get(deviceId ?? '') ?? {
        deviceId: deviceId ?? '',
        standing: svc.v1.Standing.STANDING_UNSPECIFIED,
      }),
      life,
    }))
    return svc.v1.ExchangeAnswer.encode({
      serverTimeMs: Date.now() + this.clockAheadMs,
      profiles,
      revocations: this.revocations.map((one) => ({ life, ...one })),
      life,
      revocationsCursorMs: Date.now(),
      revocationsCursorXact: this.xact,
      upAccepted: request.up.length > 0 && this.takesUp,
      messages: this.messages.splice(0),
    }).finish()
  }
}
