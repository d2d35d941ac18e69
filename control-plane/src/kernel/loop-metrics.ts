import { loopCounts } from '@svc/proto/loop'
import { Counter, type Registry } from 'prom-client'

/** Shows how often and how long this process's event loop stood still. */
export function measureLoop(registry: Registry): void {
  const total = (name: string, help: string, read: () => number) =>
    new Counter({
      name: `svc_event_loop_${name}_total`,
      help,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  total('blocks', 'Times that it stood still for half a second or longer', () => loopCounts.blocks)
  total('blocked_seconds', 'How long together', () => loopCounts.blockedMs / 1_000)
}
