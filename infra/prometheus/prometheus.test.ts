import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { gaugePatienceMs } from '../../control-plane/src/kernel/gauges.ts'
import { alerts, dashboardNames, namesIn, panels, rows } from '../test/metric-names.ts'
import { withProgram } from '../test/needs.ts'

const here = import.meta.dirname
/** Of promtool, on a machine that has much to do. */
const patience = { timeout: 60_000 }

/** When an alert fires, and what is just below that. */
interface Case {
  alert: string
  at: string
  fires: Record<string, string>
  below: Record<string, string>
}
const cases = parse(readFileSync(join(here, 'cases.yml'), 'utf8')) as Case[]

interface Rules {
  groups: { rules: { alert: string; expr: string; for?: string }[] }[]
}

/** As `promtool test rules` takes it: the alert once where it must fire, and once where it must not. */
const testOf = ({ alert, at, ...sides }: Case) => ({
  rule_files: [`${alert}.yml`],
  // What looks at hours is looked at less often.
  evaluation_interval: Number.parseInt(at, 10) > 120 ? '5m' : '1m',
  tests: (['fires', 'below'] as const).map((side) => ({
    interval: '1m',
    input_series: Object.entries(sides[side]).map(([series, values]) => ({ series, values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: at,
        exp_samples: side === 'fires' ? [{ labels: '{}', value: 1 }] : [],
      },
    ],
  })),
})

withProgram('promtool', 'prometheus', 'Prometheus', (promtool) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-prometheus-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  for (const file of ['prometheus.yml', 'alerts.yml', 'alerts.test.yml'])
    cpSync(join(here, file), join(folder, file))
  cpSync(join(here, '../compose/targets'), join(folder, 'targets'), { recursive: true })
  const tool = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: folder, encoding: 'utf8' })
    return { status, text: stdout + stderr }
  }

  test('takes the configuration, its rules and the targets of compose', () => {
    const { status, text } = tool('check', 'config', '--lint-fatal', 'prometheus.yml')
    expect([status, /WARNING|does not exist/.test(text)], text).toEqual([0, false])
  })

  test('fires no alert for a quiet system, and those of new counters once', patience, () => {
    const { status, text } = tool('test', 'rules', 'alerts.test.yml')
    expect(status, text).toBe(0)
  })

  /** Of all cases those that are not as they must be; each alert is by itself, as all together would take a minute. */
  const wrongOf = (some: readonly Case[], change: (expr: string) => string) => {
    const { groups } = parse(readFileSync(join(here, 'alerts.yml'), 'utf8')) as Rules
    const rules = new Map(groups.flatMap(({ rules: of }) => of.map((rule) => [rule.alert, rule])))
    for (const one of some) {
      const rule = rules.get(one.alert)
      if (!rule) throw new Error(`there is no alert ${one.alert}`)
      const group = { name: 'one', rules: [{ ...rule, expr: change(rule.expr) }] }
      writeFileSync(join(folder, `${one.alert}.yml`), stringify({ groups: [group] }))
      writeFileSync(join(folder, `${one.alert}.test.yml`), stringify(testOf(one)))
    }
    const { text } = tool('test', 'rules', ...some.map(({ alert }) => `${alert}.test.yml`))
    if (/\berror\b/.test(text)) throw new Error(text)
    const failed = /alertname=\\"(\w+)\\".*\n\s+exp: (nil)?/g
    return [...text.matchAll(failed)].map(([, alert, none]) => `${alert} ${none ? 'below' : 'fires'}`)
  }

  test('fires each alert for its fault, and not just below it', patience, () => {
    expect(wrongOf(cases, (expr) => expr)).toEqual([])
  })

  test('sees an alert that is lost, and one that fires too soon', patience, () => {
    const some = cases.filter(({ alert }) => ['RevokedLate', 'GatewayDown', 'CommandsStuck'].includes(alert))
    const all = (side: string) => some.map(({ alert }) => `${alert} ${side}`)
    expect(some).toHaveLength(3)
    expect(wrongOf(some, () => 'vector(1) < 0')).toEqual(all('fires'))
    expect(wrongOf(some, () => 'vector(1)')).toEqual(all('below'))
  })
})

describe('alerts', () => {
  test('say how urgent they are and what to do, and each has its cases', () => {
    for (const { alert, labels, annotations } of alerts()) {
      expect(['page', 'ticket'], alert).toContain(labels.severity)
      expect(annotations.summary.length * annotations.runbook.length, alert).toBeGreaterThan(0)
    }
    expect(cases.map(({ alert }) => alert)).toEqual(alerts().map(({ alert }) => alert))
  })

  test('lead to a part of operations.md that is there, and has words', () => {
    const parts = partsOf(readFileSync(join(here, '../../docs/operations.md'), 'utf8'))
    expect(parts.size).toBeGreaterThan(20)
    for (const { alert, annotations } of alerts()) {
      const [page, anchor = ''] = annotations.runbook_url.split('#')
      expect([page, (parts.get(anchor) ?? '').length > 80], `${alert}: ${anchor}`).toEqual([
        'operations.md',
        true,
      ])
    }
  })
})

/** What stands below each heading, by the anchor that a reader of the page gets to. */
function partsOf(page: string): Map<string, string> {
  const parts = page.split(/^#{2,3} /m).slice(1)
  const anchor = (title: string) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-')
  return new Map(
    parts.map((part) => {
      const [title = '', ...text] = part.split('\n')
      return [anchor(title), text.join('\n').trim()]
    }),
  )
}

test('whoever an alert or a panel means is somebody who is asked, and answers in time', () => {
  const { scrape_configs: jobs, global } = parse(readFileSync(join(here, 'prometheus.yml'), 'utf8')) as {
    scrape_configs: { job_name: string; file_sd_configs: { files: string[] }[] }[]
    global: { scrape_timeout: string }
  }
  const expressions = [
    ...alerts().map(({ expr }) => expr),
    ...panels().flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ]
  const meant = expressions.flatMap((expr) => [...expr.matchAll(/\bjob="([^"]+)"/g)].map(([, job]) => job))
  expect(new Set(meant)).toEqual(new Set(jobs.map(({ job_name: name }) => name)))
  for (const { job_name: name, file_sd_configs: found } of jobs)
    expect(found).toEqual([{ files: [`targets/${name}.yml`] }])
  expect(Number.parseInt(global.scrape_timeout, 10) * 1_000).toBeGreaterThan(2 * gaugePatienceMs)
})

describe('the dashboard', () => {
  test('answers four questions, by panels that do not lie on each other, each with an expression', () => {
    expect(rows()).toEqual(['Is it up?', 'Are agents connected?', 'Is work flowing?', 'What is saturated?'])
    const places = panels().flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    )
    expect(new Set(places).size).toBe(places.length)
    for (const { title, targets } of panels())
      expect(
        targets.flatMap(({ expr }) => namesIn(expr)),
        title,
      ).not.toEqual([])
    expect(dashboardNames()).toContain('svc_edge_devices')
  })

  test('names of metrics are told from functions and labels', () => {
    expect(
      namesIn(
        'histogram_quantile(0.9, sum by (le, via_x) (rate(svc_a_bucket{x_y="z_z"}[5m]))) > on (q_q) up',
      ),
    ).toEqual(['svc_a_bucket', 'up'])
  })
})
