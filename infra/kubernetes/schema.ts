import { unknownFields } from './fields.ts'

interface Probe {
  httpGet?: { path: string; port: string | number }
  tcpSocket?: { port: string | number }
  periodSeconds?: number
  failureThreshold?: number
  timeoutSeconds?: number
}

export interface Container {
  name: string
  image: string
  args?: string[]
  env?: { name: string; value: string }[]
  ports?: { name: string; containerPort: number }[]
  volumeMounts?: { name: string; mountPath: string }[]
  startupProbe?: Probe
  livenessProbe?: Probe
  readinessProbe?: Probe
  lifecycle?: { preStop: { exec: { command: string[] } } }
  resources?: object
  securityContext?: object
}

interface PodSpec {
  containers: Container[]
  volumes?: { name: string; secret?: { secretName: 'svc' | 'svc-keys'; items?: { path: string }[] } }[]
  terminationGracePeriodSeconds?: number
  automountServiceAccountToken?: boolean
  securityContext?: object
}

type Labels = Record<string, string>

/** As much of an object of Kubernetes as the tests look at. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
  data?: Record<string, string>
  spec: {
    replicas?: number
    minReplicas?: number
    selector?: Record<string, string>
    template?: { metadata?: { labels?: Labels; annotations?: Labels }; spec: PodSpec }
    podSelector?: { matchLabels?: Labels }
    metrics?: { pods?: { metric: { name: string } } }[]
    ports?: { port: number; targetPort: string }[]
    ingress?: { from?: object[]; ports?: { port: string | number; protocol: string }[] }[]
  }
}

type Model = new (data: object) => { validate(): void }

/** What is wrong with an object by the schema of its kind in the published OpenAPI of Kubernetes, unknown fields included. */
export async function flawsOf(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind, metadata } = manifest
  // One file to a kind; all of a version together take seconds to load.
  const kinds = (await import(`kubernetes-models/${apiVersion}/${kind}`)) as Record<string, Model>
  const Kind = kinds[kind]
  if (!Kind) return [`${apiVersion} ${kind}: no such kind`]
  const unknown = unknownFields(manifest).map((path) => `${kind} ${metadata.name}: ${path} is no field`)
  try {
    new Kind(manifest).validate()
    return unknown
  } catch (error) {
    return [...unknown, `${kind} ${metadata.name}: ${(error as Error).message}`]
  }
}
