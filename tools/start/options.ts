/** What the command line of `npm start` says; see switches.mjs. */
export interface StartOptions {
  data: string
  host: string
  port: number
  gatewayPort: number
  mqttPort: number | 'off'
  internalPort: number
  metricsPort: number
  gatewayMetricsPort: number
  /** a number, or `auto` */
  gatewayWorkers: string
  bus: 'redis' | 'memory' | undefined
  agents: number
  noHostAgent: boolean
  showAdmin: boolean
  reset: boolean
  watch: boolean
}

/** See progress.mjs. */
export interface Progress {
  elapsedMs: () => number
  say: (text: string) => void
  step<T>(what: string, work: () => Promise<T> | T, done?: (value: T) => string): Promise<T>
}

/** Something that the user or the machine causes and that one line explains. */
export class Expected extends Error {
  readonly expected = true
}
