import { routes } from '../../../src/areas/index.ts'
import type { Identify } from '../../../src/kernel/caller.ts'
import { appWith } from '../world/app-with.ts'
import type { World } from '../world/things.ts'
import type { Limits } from './stage.ts'

/** For tests alone: an API to which callers come without these of their limits, as if nothing asked for them. */
export function appWithout(world: World, gone: readonly (keyof Limits)[]) {
  const identify: Identify = async (credential) => {
    const caller = await world.core.kernel.identify(credential)
    const scope = { ...caller.scope }
    if (scope.kind === 'tenant') for (const limit of gone) delete scope[limit]
    return { ...caller, scope }
  }
  const core = { ...world.core, kernel: { ...world.core.kernel, identify } }
  return appWith({ ...world, core }, routes)
}
