import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { gaugePatienceMs } from '../../control-plane/src/kernel/gauges.ts'
import { alerts, dashboardNames, namesIn, panels } from '../test/metric-names.ts'
import { withProgram } from '../test/needs.ts'

const here = import.meta.dirname

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

  test('fires each alert for its fault, and none for a quiet system', () => {
    const { status, text } = tool('test', 'rules', 'alerts.test.yml')
    expect(status, text).toBe(0)
  })

  test('misses an alert whose condition is lost', () => {
    const lost = readFileSync(join(here, 'alerts.yml'), 'utf8').replace(
      'svc_edge_exchange_up == 0',
      'svc_edge_exchange_up == 2',
    )
    writeFileSync(join(folder, 'alerts.yml'), lost)
    expect(tool('test', 'rules', 'alerts.test.yml').text).toMatch(/FAILED/)
  })
})

describe('alerts', () => {
  test('say how urgent they are and what to do, and each is in a test', () => {
    const { tests } = parse(readFileSync(join(here, 'alerts.test.yml'), 'utf8')) as { tests: object[] }
    const tested = JSON.stringify(tests.slice(1))
    for (const { alert, labels, annotations } of alerts()) {
      expect(['page', 'ticket'], alert).toContain(labels.severity)
      expect(annotations.summary.length * annotations.runbook.length, alert).toBeGreaterThan(0)
      expect(tested).toContain(`alertname=\\"${alert}\\"`)
    }
  })
})

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
  test('has panels that do not lie on each other, each with an expression', () => {
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
