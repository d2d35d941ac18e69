import { Counter, Gauge, type Registry } from 'prom-client'
import type { Ports } from './ports.ts'

/** Shows how much password work there is: what is refused is a decision, and counted. */
export function measurePasswords(registry: Registry, passwords: Ports['passwords']): void {
  const load = () => passwords.load()
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge('svc_password_hashes_running', 'Password hashes under way', () => load().running)
  gauge('svc_password_hashes_waiting', 'Password hashes that wait for their turn', () => load().waiting)
  let told = 0
  new Counter({
    name: 'svc_password_hashes_refused_total',
    help: 'Requests that were told to come again, as too many passwords were waiting',
    registers: [registry],
    collect() {
      const { refused } = load()
      this.inc(refused - told)
      told = refused
    },
  })
}
