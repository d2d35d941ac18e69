import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig as readServer } from '../../control-plane/src/config.ts'
import { gaugePatienceMs } from '../../control-plane/src/kernel/gauges.ts'
import { readConfig as readGateway } from '../../edge-gateway/src/config.ts'
import { imageEnvironment } from '../test/compose.ts'
import { controlPlaneDrainMs, gatewayDrainMs } from '../test/drain.ts'
import { withProgram } from '../test/needs.ts'
import { flawsOf, type Container, type Manifest } from './schema.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-kubernetes-'))
afterAll(() => rmSync(folder, { recursive: true }))

withProgram('kubectl', 'kubectl', 'Kubernetes', (kubectl) => {
  describe.each(['small', 'large'])('overlay %s', (overlay) => {
    const built = spawnSync(kubectl, ['kustomize', join(import.meta.dirname, 'overlays', overlay)], {
      encoding: 'utf8',
    })
    const all = parseAllDocuments(built.stdout).map((document) => document.toJS() as Manifest)
    const named = (kind: string, name: string) =>
      all.find((one) => one.kind === kind && one.metadata.name.replace(/-[a-z0-9]{10}$/, '') === name)
    const running = all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    const podOf = (name: string) =>
      running.find(({ metadata }) => metadata.name === name)?.spec.template?.spec
    const only = (name: string) => podOf(name)?.containers[0] as Container

    const serverNames = overlay === 'large' ? ['control-plane', 'worker'] : ['control-plane']

    test('is built without a word of warning', () => {
      expect([built.status, built.stderr]).toEqual([0, ''])
      expect(all.length).toBeGreaterThan(15)
    })

    test('is what the API of Kubernetes takes', async () => {
      const flaws = await Promise.all(all.map(flawsOf))
      expect(flaws.flat()).toEqual([])
    })

    test('runs everything as nobody in particular, without a token of the cluster, from files that it cannot change', () => {
      for (const { metadata, spec } of running) {
        const pod = spec.template?.spec
        expect(pod, metadata.name).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 10_001,
            seccompProfile: { type: 'RuntimeDefault' },
          },
        })
        for (const container of pod?.containers ?? []) {
          expect(container.securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          })
          expect(Object.keys(container.resources ?? {})).toEqual(['limits', 'requests'])
        }
      }
    })

    test('waits for a drain as long as it takes', () => {
      const grace = (name: string) => Number(podOf(name)?.terminationGracePeriodSeconds) * 1_000
      const before = Number(only('gateway').lifecycle?.preStop.exec.command[1]) * 1_000
      expect(before).toBe(5_000)
      expect(grace('gateway')).toBe(before + gatewayDrainMs + 5_000)
      for (const name of serverNames) expect([name, grace(name)]).toEqual([name, controlPlaneDrainMs + 5_000])
    })

    test('has noticed that a control plane is not ready before that stops', () => {
      const { periodSeconds = 0, failureThreshold = 0 } = only('control-plane').readinessProbe ?? {}
      const { readinessProbe } = only('control-plane')
      expect(readinessProbe?.httpGet?.path).toBe('/health/ready')
      expect(periodSeconds * failureThreshold * 1_000).toBeLessThan(
        Number(imageEnvironment('control-plane')['DRAIN_DELAY_MS']),
      )
    })

    test('restarts nobody for a database, a Redis or a control plane that is away', () => {
      for (const { spec } of running.filter(({ kind }) => kind === 'Deployment'))
        for (const { livenessProbe } of spec.template?.spec.containers ?? []) {
          expect(['/health', '/metrics']).toContain(livenessProbe?.httpGet?.path)
          // Where the database is silent, metrics are told after this.
          expect(Number(livenessProbe?.timeoutSeconds) * 1_000).toBeGreaterThan(2 * gaugePatienceMs)
        }
    })

    test('sends nothing to who is not ready', () => {
      for (const name of ['control-plane', 'gateway'])
        expect(only(name).readinessProbe?.httpGet?.path, name).toBe('/health/ready')
    })

    test('has each file that a program is told of, of the Secrets that operations.md makes', () => {
      const made = { svc: ['database_url', 'redis_url', 'edge_shared_key'], 'svc-keys': undefined }
      const keysDir = imageEnvironment('control-plane')['KEYS_DIR'] ?? ''
      for (const { metadata, spec } of running) {
        const { volumes = [], containers } = spec.template?.spec ?? { containers: [] }
        const mounted = (containers[0]?.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
          const secret = volumes.find((volume) => volume.name === name)?.secret
          if (!secret) return []
          expect(Object.keys(made)).toContain(secret.secretName)
          const keys = secret.items?.map(({ path }) => path) ?? made[secret.secretName]
          return keys ? keys.map((key) => `${mountPath}/${key}`) : [mountPath]
        })
        const told = (containers[0]?.env ?? []).filter(({ name }) => name.endsWith('_FILE'))
        expect(told.length, metadata.name).toBeGreaterThan(1)
        for (const { value } of told) expect(mounted, metadata.name).toContain(value)
        if (serverNames.includes(metadata.name)) expect(mounted, metadata.name).toContain(keysDir)
      }
    })

    test('starts programs that are there, in roles that there are', () => {
      const programs = Object.fromEntries(
        running.map(({ metadata, spec }) => [
          metadata.name,
          spec.template?.spec.containers[0]?.args?.join(' '),
        ]),
      )
      const server = 'node /opt/svc/control-plane.mjs --role'
      expect(programs).toEqual({
        gateway: 'node /opt/svc/gateway.mjs',
        migrate: 'svc-admin migrate',
        ...(overlay === 'large'
          ? { 'control-plane': `${server} api`, worker: `${server} worker` }
          : { 'control-plane': `${server} all` }),
      })
    })

    test('lets Prometheus to what each pod has to tell', () => {
      const policies = all.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec)
      const toMetrics = policies.find(({ ingress }) =>
        ingress?.some(({ ports }) => ports?.some(({ port }) => port === 'metrics')),
      )
      const [[label, value] = ['', '']] = Object.entries(toMetrics?.podSelector?.matchLabels ?? {})
      for (const { metadata, spec } of running.filter(({ kind }) => kind === 'Deployment')) {
        const { labels, annotations } = spec.template?.metadata ?? {}
        expect(labels?.[label], metadata.name).toBe(value)
        const port = only(metadata.name).ports?.find(({ name }) => name === 'metrics')?.containerPort
        expect(annotations?.['prometheus.io/port'], metadata.name).toBe(String(port))
      }
    })

    test('probes and services lead to ports that containers have', () => {
      for (const { metadata, spec } of running.filter(({ kind }) => kind === 'Deployment')) {
        const {
          ports = [],
          startupProbe,
          livenessProbe,
          readinessProbe,
        } = spec.template?.spec.containers[0] ?? {}
        const names = ports.map(({ name }) => name)
        const asked = [startupProbe, livenessProbe, readinessProbe].flatMap((probe) =>
          probe ? [probe.httpGet?.port ?? probe.tcpSocket?.port] : [],
        )
        expect(
          asked.filter((port) => !names.includes(String(port))),
          metadata.name,
        ).toEqual([])
        expect(asked.length).toBeGreaterThan(1)
      }
      for (const { spec } of all.filter(({ kind }) => kind === 'Service')) {
        const target = only(String(spec.selector?.['app.kubernetes.io/name'])).ports?.map(({ name }) => name)
        for (const { targetPort } of spec.ports ?? []) expect(target).toContain(targetPort)
      }
    })

    test('lets gateways alone to the exchange, and nobody anywhere else unsaid', () => {
      const policies = all.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec)
      expect(policies).toContainEqual({ podSelector: {}, policyTypes: ['Ingress'] })
      const toExchange = policies
        .flatMap(({ ingress = [] }) => ingress)
        .filter(({ ports }) => ports?.some(({ port }) => port === 'exchange' || port === 8081))
      expect(toExchange).toEqual([
        {
          from: [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'gateway' } } }],
          ports: [{ port: 'exchange', protocol: 'TCP' }],
        },
      ])
      for (const { ingress = [] } of policies)
        for (const { from, ports } of ingress) expect([from?.length, ports?.length]).not.toContain(undefined)
    })

    test('gives a gateway neither the database nor the keys', () => {
      const volumes = JSON.stringify(podOf('gateway')?.volumes)
      expect(volumes).not.toMatch(/database|keys/)
      expect(volumes).toMatch(/redis_url/)
    })

    test('configures programs that start in production', () => {
      const settings = (image: string, name: string, deployment: string) => {
        const given = Object.fromEntries(
          (only(deployment).env ?? []).map(({ name: key, value }) => [key, value]),
        )
        const files = Object.fromEntries(
          Object.entries(given).flatMap(([key, path]) => {
            if (!key.endsWith('_FILE')) return [[key, path]]
            const file = join(folder, `${overlay}-${deployment}-${key}`)
            writeFileSync(
              file,
              key.startsWith('EDGE')
                ? 'k'.repeat(32)
                : `${key.startsWith('REDIS') ? 'redis' : 'postgres'}://x/y`,
              { mode: 0o440 },
            )
            return [[key, file]]
          }),
        )
        return { ...imageEnvironment(image), ...named('ConfigMap', name)?.data, ...files } as Record<
          string,
          string
        >
      }
      for (const deployment of serverNames)
        expect(readServer(settings('control-plane', 'control-plane', deployment))).toMatchObject({
          environment: 'production',
          autoMigrate: false,
          host: '0.0.0.0',
          internalHost: '0.0.0.0',
          metricsHost: '0.0.0.0',
          redisUrl: 'redis://x/y',
        })
      const gateway = readGateway(settings('gateway', 'gateway', 'gateway'))
      expect(gateway).toMatchObject({
        exchangeUrls: ['http://exchange:8081/internal/edge/exchange'],
        redisUrl: 'redis://x/y',
        host: '0.0.0.0',
        mqtt: { host: '0.0.0.0' },
        metrics: { host: '0.0.0.0' },
      })
      expect(settings('control-plane', 'control-plane', 'migrate')).toMatchObject({
        KEYS_DIR: '/etc/svc/keys',
      })
    })

    test('never has none of a kind by its own doing', () => {
      for (const name of ['control-plane', 'gateway']) {
        expect(named('PodDisruptionBudget', name)?.spec).toMatchObject({ maxUnavailable: 1 })
        const scaler = named('HorizontalPodAutoscaler', name)?.spec
        const deployment = named('Deployment', name)?.spec
        expect(Number(scaler?.minReplicas ?? deployment?.replicas), name).toBeGreaterThan(1)
        expect(scaler ? deployment?.replicas : undefined, 'both would say how many').toBeUndefined()
      }
    })
  })
})

test('gateways scale by what the adapter hands over', () => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, 'overlays/large', name), 'utf8')
  const [scaler] = parseAllDocuments(read('autoscaling.yaml')).map((document) => document.toJS() as Manifest)
  const metric = scaler?.spec.metrics?.[0]?.pods?.metric.name ?? ''
  const [rule] = parse(read('prometheus-adapter.yaml')) as {
    seriesQuery: string
    name: Record<string, string>
  }[]
  expect(rule?.name).toEqual({ matches: `^${metric}$`, as: metric })
  expect(rule?.seriesQuery).toMatch(new RegExp(`^${metric}{`))
})

test('a field that the API does not have, and a value that it does not take, are flaws', async () => {
  const wrong = (container: object) => {
    const spec = { selector: {}, template: { spec: { containers: [{ name: 'x', ...container }] } } }
    return flawsOf({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'x' },
      spec,
    } as unknown as Manifest)
  }
  expect(await wrong({ livenessProbe: { httpGet: { port: 1 } } })).toEqual([])
  const misspelt = await wrong({ livenessProbe: { httpGet: { port: 1, pth: '/' } } })
  expect(misspelt).toEqual([
    'Deployment x: Deployment.spec.template.spec.containers[0].livenessProbe.httpGet.pth is no field',
  ])
  expect((await wrong({ ports: [{ containerPort: 'http' }] })).join()).toMatch(
    /containerPort must be integer/,
  )
})
