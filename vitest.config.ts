import { defineConfig } from 'vitest/config'
import { findRedisServer, haveMqttClients } from './tools/services.ts'

const suffixes = ['db', 'redis', 'e2e']
const outside = ['**/node_modules/**', '**/dist/**', '.svc/**']
/** Tests that drive clients of other makers, as Debian packs them. */
const foreign = 'edge-gateway/test/mqtt/debian/**'
const foreignMissing = !haveMqttClients()
const haveRedis = Boolean(process.env['TEST_REDIS_URL'] || findRedisServer())

/** The suffix of a test file says what it costs to run; files without one need nothing but themselves. */
function project(name: string, testTimeout: number, hookTimeout: number) {
  const files = (suffix: string) => `**/*.${suffix}.test.ts`
  const unit = name === 'unit'
  const own = name === 'redis' && !haveRedis ? 'tools/vitest/needs-redis.ts' : files(name)
  const stand = name === 'redis' && foreignMissing ? ['tools/vitest/needs-mqtt-clients.ts'] : []
  return {
    extends: true as const,
    test: {
      name,
      include: [unit ? '**/*.test.ts' : own, ...stand],
      exclude: [...outside, ...(unit ? suffixes.map(files) : []), ...(foreignMissing ? [foreign] : [])],
      // Loading the product takes longer than most of these files: those of one process share it. Nothing in them outlives its file.
      isolate: false,
      // Whole programs fill the cores by themselves, and are held to seconds.
      ...(name === 'e2e' && { sequence: { groupOrder: 1 }, maxWorkers: 2 }),
      testTimeout,
      hookTimeout,
      globalSetup: unit ? [] : ['tools/vitest/services.ts'],
    },
  }
}

export default defineConfig({
  test: {
    // Native addons may crash in worker threads.
    pool: 'forks',
    // Mostly they wait for a database or for programs of their own: more of them than cores keep these busy.
    maxWorkers: 3,
    // Whoever polls waits for what must be so: a second, the default, is little on a machine that others use.
    expect: { poll: { timeout: 20_000 } },
    reporters: [process.env['CI'] ? 'dot' : 'default', './tools/vitest/tally.ts'],
    projects: [
      project('unit', 30_000, 60_000),
      project('db', 30_000, 60_000),
      project('redis', 30_000, 60_000),
      // Six times what the longest takes on a machine that nobody else uses.
      project('e2e', 240_000, 240_000),
    ],
  },
})
