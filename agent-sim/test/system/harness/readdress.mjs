import os from 'node:os'
import { syncBuiltinESMExports } from 'node:module'

// Loaded before a program: on SIGUSR2 the machine has one more address, as it sees it. Its network itself is left alone.
const { networkInterfaces } = os
const card = { family: 'IPv4', internal: false, mac: '02:00:00:00:00:01', netmask: '255.255.255.0' }
let added = 0
os.networkInterfaces = () => {
  const more = Array.from({ length: added }, (_, at) => `192.0.2.${at + 1}`)
  const cards = more.map((address) => ({ ...card, address, cidr: `${address}/24` }))
  return { ...networkInterfaces(), ...(added > 0 && { moved0: cards }) }
}
syncBuiltinESMExports()
process.on('SIGUSR2', () => (added += 1))
