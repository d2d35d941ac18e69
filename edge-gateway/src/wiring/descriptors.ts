import { DescriptorGuard } from '../ops/descriptors.ts'
import type { Ground } from './ground.ts'
import type { Stage } from './stage.ts'

/** Has the transport pause before file descriptors run out. */
export const descriptorGuardOf = (ground: Ground, stage: Readonly<Stage>): DescriptorGuard =>
  new DescriptorGuard({
    limits: ground.limits,
    counters: ground.counters,
    log: ground.log,
    connections: () => ground.registry.size,
    pause: () => stage.transport?.pause(),
    resume: async () => stage.transport?.resume(),
    ...(ground.without.has('descriptor_guard') ? { read: () => undefined } : {}),
  })
