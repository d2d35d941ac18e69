import { type AddressInfo, createServer } from 'node:net'
import { Aedes } from 'aedes'
import { serveCalls } from '../wire/serve.ts'

/** The peer of our MQTT: aedes as its manual sets it up, on node:net, with everything in memory and nobody asked for a password. */
const broker = await Aedes.createBroker()
let published = 0
broker.on('publish', (_packet, client) => {
  if (client) published++
})

serveCalls({
  listen: () =>
    new Promise<number>((resolve, reject) => {
      const server = createServer(broker.handle)
      server.once('error', reject)
      server.listen(0, '127.0.0.1', 4096, () => resolve((server.address() as AddressInfo).port))
    }),
  published: () => published,
})
