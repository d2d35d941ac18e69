import { join } from 'node:path'
import type { svc } from '@svc/proto'
import { readObject, writeWhole } from '../launcher/whole-file.ts'

/** What the server wants this agent to be like (update.proto, ConfigUpdate). */
export interface Config {
  /** 0: none was received yet */
  version: number
  autoUpdate: boolean
}

/** The configuration and where it is kept. */
export interface KeptConfig {
  readonly present: Config
  /** Takes effect at once; `present.version` follows when a restart would know it, too. Rejects when it cannot be kept. */
  take(update: svc.v1.ConfigUpdate.$Properties): Promise<void>
}

/** For devices that are not real: it lives as long as this object. */
export function rememberedConfig(): KeptConfig {
  let present: Config = { version: 0, autoUpdate: true }
  return {
    get present() {
      return present
    },
    take: async (update) => {
      present = configOf(update)
    },
  }
}

/** In `<stateDir>/config.json`. */
export async function openConfig(stateDir: string): Promise<KeptConfig> {
  const path = join(stateDir, 'config.json')
  const { version, autoUpdate } = (await readObject(path)) ?? {}
  return new ConfigFile(path, {
    version: typeof version === 'number' ? version : 0,
    autoUpdate: autoUpdate !== false,
  })
}

class ConfigFile implements KeptConfig {
  readonly #path: string
  present: Config
  #newest: Config
  #last: Promise<void> = Promise.resolve()

  constructor(path: string, present: Config) {
    this.#path = path
    this.present = present
    this.#newest = present
  }

  async take(update: svc.v1.ConfigUpdate.$Properties): Promise<void> {
    const config = configOf(update)
    this.#newest = config
    this.present = { version: this.present.version, autoUpdate: config.autoUpdate }
    const before = this.#last
    const kept = this.#keep(before, config)
    this.#last = kept.catch(() => undefined)
    await kept
  }

  /** One after the other: what came last stands in the file. */
  async #keep(before: Promise<void>, config: Config): Promise<void> {
    await before
    await writeWhole(this.#path, `${JSON.stringify(config)}\n`)
    if (this.#newest === config) this.present = config
  }
}

const configOf = ({ version, autoUpdate }: svc.v1.ConfigUpdate.$Properties): Config => ({
  version: version ?? 0,
  autoUpdate: autoUpdate ?? false,
})
