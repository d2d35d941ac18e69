import type { CommandArgs, CommandTypeName, svc } from '@svc/proto'

/** What does not change while the agent runs. */
export interface Facts {
  hostname: string
  osType: 'windows' | 'macos' | 'linux'
  /** Debian GNU/Linux, Windows 11 Pro, … */
  osName: string
  osVersion: string
  osBuild: string
  /** amd64 | arm64 | … */
  architecture: string
  bootId: string
  deviceRole: 'workstation' | 'server'
}

/** The measured part of a heartbeat. */
export type Vitals = Pick<
  svc.v1.Heartbeat.$Properties,
  'status' | 'uptimeSeconds' | 'metrics' | 'pendingReboot' | 'loggedInUser'
>

/** One kind of inventory: the `payload` of an Inventory message. */
export type Collected =
  | { hardware: svc.v1.Hardware.$Properties }
  | { os: svc.v1.OperatingSystem.$Properties }
  | { disks: svc.v1.Disks.$Properties }
  | { network: svc.v1.Network.$Properties }
  | { software: svc.v1.Software.$Properties }

/** What a command came to. `failed` says why it did not do what it should; `result` becomes JSON. */
export interface Done {
  failed?: string
  exitCode?: number
  stdout?: svc.v1.Output.$Properties
  stderr?: svc.v1.Output.$Properties
  result?: unknown
}

export interface Context {
  commandId: string
  /** Aborted on cancel, timeout and stop: the work ends soon and still says what it has. */
  signal: AbortSignal
}

/** The types that a device does itself; the others are the agent's own. */
export type DeviceCommand = Exclude<CommandTypeName, 'refresh_inventory'>

/** What differs between a real host and a simulated device. A new command type without an entry here does not compile. */
export interface Behaviour {
  readonly facts: Facts
  vitals(): Promise<Vitals>
  /** All that can be told; what cannot, and why, is told to `trouble`. */
  collect(trouble: (text: string) => void): Promise<Collected[]>
  readonly commands: { [T in DeviceCommand]: (args: CommandArgs<T>, context: Context) => Promise<Done> }
}
