import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const infra = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(infra, path), 'utf8')

interface Alert {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string; runbook_url: string }
}

export const alerts = (): Alert[] =>
  (parse(read('prometheus/alerts.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
    ({ rules }) => rules,
  )

interface Panel {
  type: string
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: { expr: string }[]
}

const dashboard = () => (JSON.parse(read('grafana/dashboards/svc.json')) as { panels: Panel[] }).panels
export const panels = (): Panel[] => dashboard().filter(({ type }) => type !== 'row')
/** What its panels stand below. */
export const rows = (): string[] =>
  dashboard()
    .filter(({ type }) => type === 'row')
    .map(({ title }) => title)

/** Metrics in an expression of PromQL: what stands neither in a selector, nor as a function, nor as a word of the language. */
export const namesIn = (expr: string): string[] => [
  ...new Set(
    expr
      .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, ' ')
      .replaceAll(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
      .match(/\b[a-z]+_[a-z0-9_]+\b(?!\s*\()|\bup\b/g),
  ),
]

const all = (expressions: string[]) => [...new Set(expressions.flatMap(namesIn))]
export const alertNames = () => all(alerts().map(({ expr }) => expr))
export const dashboardNames = () => all(panels().flatMap(({ targets }) => targets.map(({ expr }) => expr)))

/** Of ours, in what people are told to look at, and in what the cluster scales by. */
export const toldNames = () => {
  const folder = join(infra, 'kubernetes/overlays/large')
  const texts = [
    read('prometheus/alerts.yml'),
    readFileSync(join(infra, '../docs/operations.md'), 'utf8'),
    ...['autoscaling.yaml', 'prometheus-adapter.yaml'].map((name) =>
      readFileSync(join(folder, name), 'utf8'),
    ),
  ]
  const found = texts.flatMap(
    (text) =>
      text.match(
        /\b(?:svc_(?:audit|commands|database|edge|event|http|inbox|internal|jobs|outbox|redis|schedules|values)|nodejs)_\w+/g,
      ) ?? [],
  )
  return [...new Set(found)]
}

/** Names in texts of the exposition format, also of counters that have not counted yet. */
export const exportedNames = (...texts: string[]): Set<string> =>
  new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    ),
  )
