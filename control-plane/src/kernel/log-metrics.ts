import { logCounts } from '@svc/proto/log'
import { Counter, type Registry } from 'prom-client'

const byKind = (
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Record<string, number>,
) =>
  new Counter({
    name: `svc_${name}_total`,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      for (const [kind, value] of Object.entries(read())) this.inc({ [label]: kind }, value)
    },
  })

/** What became of this process's lines. */
export function measureLog(registry: Registry): void {
  byKind(registry, 'log_lines_lost', 'Lines of the log that were not written', 'why', () => logCounts.lost)
  byKind(registry, 'security_events', 'What is told whatever the level', 'event', () => logCounts.security)
}
