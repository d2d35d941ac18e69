import { randomUUID } from 'node:crypto'
import { encodeBody, svc, withSeq } from '@svc/proto'

const { AgentRole, HeartbeatStatus, Outcome, UpdatePhase, CloseReason } = svc.v1
const hash = Buffer.alloc(32, 7)
const trace = {
  traceId: Buffer.alloc(16, 1),
  spanId: Buffer.alloc(8, 2),
  flags: 1,
  requestId: Buffer.alloc(16, 3),
}
const output = {
  data: Buffer.from('Привет\0\xff', 'latin1'),
  encoding: 'cp866',
  truncated: true,
  originalSize: 4_096,
}
const metrics = {
  cpuPercent: 12.5,
  ramPercent: 40,
  ramUsedBytes: 4e9,
  diskPercent: 71.25,
  diskUsedBytes: 2e11,
  netInBytes: 1_000,
  netOutBytes: 2_000,
  processCount: 211,
}
const collected = { collectedAtMs: 1_700_000_000_000, hash }

/** Valid frames of every kind, both ways, with every field set somewhere. A command that is named here was never given. */
export const seeds = (): { kind: string; frame: Buffer }[] =>
  bodies().map((body, n) => ({
    kind: Object.keys(body)[0] ?? '',
    frame: Buffer.from(withSeq(n + 2, encodeBody(body))),
  }))

const bodies = (): svc.v1.IEnvelope[] => {
  const commandId = randomUUID()
  const versions = { agentVersion: '1.2.3', helperVersion: '1.0.0', watchdogVersion: '0.9.0' }
  return [
    {
      hello: {
        protocolMin: 1,
        protocolMax: 1,
        ...versions,
        os: 'linux',
        arch: 'amd64',
        bootId: randomUUID(),
        capabilities: ['commands', 'inventory'],
        resumeToken: Buffer.alloc(16),
        ledgerHead: 12,
      },
    },
    { heartbeat: { status: HeartbeatStatus.WARNING, ...versions, uptimeSeconds: 86_400, metrics } },
    {
      heartbeat: {
        role: AgentRole.WATCHDOG,
        watchdogVersion: '0.9.0',
        pendingReboot: true,
        loggedInUser: 'ada',
        configVersion: 3,
        commandsInFlight: 2,
      },
    },
    { commandAck: { commandId, attempt: 1, trace } },
    { commandProgress: { commandId, attempt: 1, startedAtMs: 1_700_000_000_000, trace } },
    {
      commandResult: {
        commandId,
        attempt: 2,
        outcome: Outcome.SUCCEEDED,
        exitCode: 0,
        stdout: output,
        stderr: output,
        result: Buffer.from('{"a":[1,2,3]}'),
        error: 'none',
        startedAtMs: 1_700_000_000_000,
        finishedAtMs: 1_700_000_001_000,
        trace,
      },
    },
    {
      inventory: {
        ...collected,
        hardware: {
          cpuModel: 'x',
          cpuCores: 4,
          cpuThreads: 8,
          ramTotalBytes: 8e9,
          diskTotalBytes: 1e12,
          serialNumber: 's',
          manufacturer: 'm',
          model: 'o',
          biosVersion: 'b',
          gpuModel: 'g',
          isVirtual: true,
          virtualizationPlatform: 'kvm',
        },
      },
    },
    {
      inventory: {
        ...collected,
        os: {
          hostname: 'h',
          osType: 'linux',
          name: 'Debian',
          version: '12',
          build: '6.1',
          architecture: 'amd64',
        },
      },
    },
    {
      inventory: {
        ...collected,
        disks: {
          disks: [
            { mountPoint: '/', device: 'sda1', fsType: 'ext4', totalBytes: 9, usedBytes: 4, freeBytes: 5 },
          ],
        },
      },
    },
    {
      inventory: {
        ...collected,
        network: {
          interfaces: [
            {
              name: 'eth0',
              macAddress: '02:00:00:00:00:01',
              addresses: ['192.0.2.7/24'],
              state: 'up',
              mtu: 1_500,
            },
          ],
          defaultGateway: '192.0.2.1',
          dnsServers: ['192.0.2.53'],
        },
      },
    },
    {
      inventory: {
        ...collected,
        software: {
          packages: [
            {
              name: 'bash',
              version: '5.2',
              vendor: 'Debian',
              architecture: 'amd64',
              installedAtMs: 1,
              source: 'dpkg',
            },
          ],
        },
      },
    },
    {
      updateStatus: {
        component: 'agent',
        fromVersion: '1.0.0',
        toVersion: '1.1.0',
        phase: UpdatePhase.VERIFYING,
        reason: 'bad_hash',
        atMs: 1_700_000_000_000,
      },
    },
    { credentialProposal: { tokenSha256: hash } },
    { goodbye: { reason: CloseReason.SHUTDOWN } },
    { goodbye: { reason: CloseReason.UNINSTALL } },
    { goodbye: { reason: CloseReason.DRAINING } },
    {
      welcome: {
        serverTimeMs: 1,
        epoch: 2,
        heartbeatIntervalMs: 3,
        maxFrameBytes: 4,
        protocol: 1,
        upKinds: [2, 3],
      },
    },
    { heartbeatAck: { serverTimeMs: 1, nextIntervalMs: 2, configVersion: 3, owed: 4 } },
    { command: { body: Buffer.alloc(40, 1), signature: Buffer.alloc(64, 2), keyId: 'k', attempt: 1, trace } },
    { commandCancel: { commandId } },
    { resultAck: { commandId } },
    { inventoryAck: { kind: 'os', hash } },
    {
      updateOffer: {
        component: 'agent',
        version: '1',
        url: '/u',
        size: 1,
        sha256: hash,
        manifest: hash,
        signature: hash,
        keyId: 'k',
        sequence: 1,
        expiresAtMs: 1,
      },
    },
    { configUpdate: { version: 1, autoUpdate: true } },
    { move: { afterMs: 1, reason: CloseReason.DRAINING } },
    { refused: { reason: CloseReason.UNAVAILABLE, retryAfterMs: 1, text: 'no' } },
    { credentialStaged: { tokenSha256: hash } },
  ]
}
