import { Resolver } from 'node:dns/promises'
import { EgressError } from '../../adapters/egress.ts'
import { isLiteral, isLocalhost } from './target.ts'

/** Says all addresses of a host, IPv4 before IPv6. */
export interface Names {
  /** @throws EgressError UNREACHABLE where there is none */
  addressesOf(host: string): Promise<string[]>
  close(): void
}

/** More than any name needs; each is looked at. */
const mostAnswers = 64
/** Of one question to one server, and how often it is put. */
const asking = { timeout: 2_000, tries: 2 }

/**
 * Asks name servers itself, for A and AAAA: neither files of the machine nor its search list make another name of it.
 *
 * @param servers `address` or `address:port`; none: the machine's
 */
export function namesFrom(servers: readonly string[]): Names {
  const resolver = new Resolver(asking)
  if (servers.length > 0) resolver.setServers(servers)
  return {
    addressesOf: async (host) => {
      if (isLiteral(host)) return [host]
      if (isLocalhost(host)) return ['127.0.0.1', '::1']
      const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      if (addresses.length === 0 || addresses.length > mostAnswers)
        throw new EgressError('UNREACHABLE', 'the host of the address has no address that can be found')
      return addresses
    },
    close: () => resolver.cancel(),
  }
}
