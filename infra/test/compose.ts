import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export const composeFolder = join(import.meta.dirname, '../compose')
const read = (path: string) => readFileSync(join(composeFolder, path), 'utf8')

export interface Mount {
  type: string
  source: string
  target: string
  read_only?: boolean
}

export interface Service {
  image: string
  command?: string[]
  entrypoint?: string[]
  environment?: Record<string, string | number | null>
  secrets?: string[]
  volumes?: Mount[]
  ports?: string[]
  networks?: string[] | Record<string, { ipv4_address: string }>
  read_only?: boolean
  user?: string
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  stop_grace_period?: string
  healthcheck?: { test?: string[]; disable?: boolean }
}

export interface Compose {
  services: Record<string, Service>
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } }>
  secrets: Record<string, { file: string }>
  volumes: Record<string, object>
}

/** As the engine reads it, but for the values of variables. */
export const compose = () => parse(read('compose.yaml'), { merge: true }) as Compose

/** `NAME=value` lines. */
export const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^([A-Z0-9_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )

const dotEnv = () => variablesIn(read('.env.example'))

/** The environment of a service, with what `.env.example` says for its variables. */
export function environmentOf({ environment = {} }: Service): Record<string, string> {
  const given = dotEnv()
  const filled = Object.entries(environment).map(([name, value]) => [
    name,
    String(value ?? given[name] ?? '').replaceAll(
      /\$\{(\w+)(?::[-?]([^}]*))?\}/g,
      (_all, key: string, or: string) => given[key] || or || '',
    ),
  ])
  return Object.fromEntries(filled) as Record<string, string>
}

/** What a target of the Dockerfile sets, the stages before it included. */
export function imageEnvironment(target: string): Record<string, string> {
  const text = readFileSync(join(composeFolder, '../images/Dockerfile'), 'utf8')
  const stages = text.split(/^FROM /m).slice(1)
  const wanted = stages.filter((stage) =>
    [`AS runtime`, `AS ${target}`].some((name) => stage.split('\n')[0]?.endsWith(name)),
  )
  const lines = wanted.flatMap((stage) => [...stage.matchAll(/^ENV (.*)$/gm)].map(([, line = '']) => line))
  return Object.fromEntries(
    lines.flatMap((line) => line.split(' ').map((pair) => pair.split('=') as [string, string])),
  )
}

/** Milliseconds of `95s`. */
export const msOf = (duration: string | undefined) => Number.parseInt(duration ?? '', 10) * 1_000
