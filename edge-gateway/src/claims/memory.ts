import { svc } from '@svc/proto'
import { type Admission, type AdmitRequest, type Claim, type Claims, refuseByUs, ttl } from './claims.ts'

interface Profile {
  credentialVersion: number
  tokenSha256: Buffer
  standing: svc.v1.Standing
  heartbeatIntervalMs: number
  renewAtMs: number
  /** in hex; empty: none */
  publicKey: string
  epochFloor: number
  writtenUs: number
}

interface Entry {
  profile: Profile | undefined
  epoch: number
  node: string
  /** time of the last proof of its key, µs */
  provenUs: number
  /** highest dead credential version; 0: none */
  dead: number
  /** of the database that profile and `dead` are of; 0: not known */
  life: number
  expiresMs: number
}

const { Standing } = svc.v1

const refusalOf = ({ standing, tokenSha256 }: Profile, offered: Buffer) => {
  if (standing === Standing.STANDING_QUARANTINED) return 'QUARANTINED'
  if (standing === Standing.STANDING_DECOMMISSIONED) return 'DECOMMISSIONED'
  if (standing !== Standing.ACTIVE) return 'CREDENTIAL_INVALID'
  return tokenSha256.equals(offered) ? undefined : 'CREDENTIAL_INVALID'
}

/** Whether what is said of that life is to be taken; nothing is left of an earlier one then. */
function isOfLife(entry: Entry, life: number | null | undefined): boolean {
  if (!life) return true
  if (entry.life > life) return false
  if (entry.life < life) {
    entry.profile = undefined
    entry.dead = 0
    entry.life = life
  }
  return true
}

/** The claims of one gateway, in its memory: for one machine without Redis, and while Redis is away. */
export class MemoryClaims implements Claims {
  readonly #entries = new Map<string, Entry>()
  readonly #nowMs: () => number
  #pruneAt = 1_000

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  async admit(request: AdmitRequest): Promise<Admission> {
    const { deviceId, tokenSha256, node, nowUs, life, asked, proven } = request
    const entry = this.#find(deviceId)
    if (!entry?.profile || entry.life < life) return { kind: 'miss' }
    const { profile } = entry
    const reason = refusalOf(profile, tokenSha256)
    if (reason === 'CREDENTIAL_INVALID' && profile.standing === Standing.ACTIVE && !asked)
      return { kind: 'miss' }
    if (reason) {
      const recent = this.#nowMs() * 1000 - profile.writtenUs <= refuseByUs
      return recent ? { kind: 'refused', reason } : { kind: 'miss' }
    }
    if (profile.publicKey) {
      if (proven?.publicKey !== profile.publicKey) return { kind: 'prove', publicKey: profile.publicKey }
      if (proven.atUs <= entry.provenUs) return { kind: 'refused', reason: 'PROOF_STALE' }
      entry.provenUs = proven.atUs
    }
    const previous = { node: entry.node, epoch: entry.epoch }
    entry.epoch = Math.max(entry.epoch + 1, profile.epochFloor + 1, nowUs)
    entry.node = node
    this.#keep(entry, entry.dead ? ttl.deadMs : ttl.profileMs)
    const { credentialVersion, heartbeatIntervalMs, renewAtMs } = profile
    const { epoch } = entry
    const admitted = { kind: 'admitted', epoch, credentialVersion, heartbeatIntervalMs, renewAtMs } as const
    return previous.node ? { ...admitted, evict: previous } : admitted
  }

  async remember(profiles: readonly svc.v1.IDeviceProfile[]): Promise<void> {
    for (const profile of profiles) this.#remember(profile)
  }

  async revoke(revocations: readonly svc.v1.IRevocation[]): Promise<void> {
    for (const { deviceId, credentialVersion, life } of revocations) {
      const entry = this.#entry(deviceId ?? '')
      if (!isOfLife(entry, life)) continue
      entry.dead = Math.max(entry.dead, credentialVersion ?? 0)
      if (entry.profile && entry.profile.credentialVersion <= entry.dead) entry.profile = undefined
      this.#keep(entry, ttl.deadMs)
    }
  }

  async release(claims: readonly Claim[]): Promise<void> {
    for (const { deviceId, epoch, node } of claims) {
      const entry = this.#find(deviceId)
      if (entry?.node === node && entry.epoch === epoch) entry.node = ''
    }
  }

  async hold(claims: readonly Claim[]): Promise<Claim[]> {
    const lost: Claim[] = []
    for (const claim of claims) {
      const { deviceId, epoch, node } = claim
      const entry = this.#entry(deviceId)
      if (entry.epoch > epoch) {
        lost.push(claim)
        continue
      }
      entry.epoch = epoch
      if (node) entry.node = node
    }
    return lost
  }

  /** Everything known to be dead. */
  revocations(): svc.v1.IRevocation[] {
    const dead = [...this.#entries].filter(([, entry]) => entry.dead > 0)
    return dead.map(([deviceId, { dead: credentialVersion, life }]) => ({
      deviceId,
      credentialVersion,
      life,
    }))
  }

  /** Forgets all but what is dead. */
  shrink(): void {
    for (const [deviceId, entry] of this.#entries) {
      if (entry.dead) entry.profile = undefined
      else this.#entries.delete(deviceId)
    }
  }

  async close(): Promise<void> {
    this.#entries.clear()
  }

  #remember(told: svc.v1.IDeviceProfile): void {
    const entry = this.#entry(told.deviceId ?? '')
    if (!isOfLife(entry, told.life)) return
    const standing = told.standing ?? Standing.STANDING_UNSPECIFIED
    const credentialVersion = told.credentialVersion ?? 0
    if (standing === Standing.ACTIVE && entry.dead && credentialVersion <= entry.dead) return
    const unknown = standing === Standing.STANDING_UNSPECIFIED
    if (entry.profile && credentialVersion < entry.profile.credentialVersion && !unknown) return
    entry.profile = {
      credentialVersion,
      tokenSha256: Buffer.from(told.tokenSha256 ?? []),
      standing,
      heartbeatIntervalMs: told.heartbeatIntervalMs ?? 0,
      renewAtMs: told.renewAtMs ?? 0,
      publicKey: Buffer.from(told.publicKey ?? []).toString('hex'),
      epochFloor: told.epochFloor ?? 0,
      writtenUs: this.#nowMs() * 1000,
    }
    this.#keep(entry, entry.dead ? ttl.deadMs : unknown ? ttl.unknownMs : ttl.profileMs)
  }

  #find(deviceId: string): Entry | undefined {
    const entry = this.#entries.get(deviceId)
    return entry && entry.expiresMs > this.#nowMs() ? entry : undefined
  }

  #entry(deviceId: string): Entry {
    const known = this.#find(deviceId)
    if (known) return known
    if (this.#entries.size >= this.#pruneAt) this.#prune()
    const entry: Entry = {
      profile: undefined,
      epoch: 0,
      node: '',
      provenUs: 0,
      dead: 0,
      life: 0,
      expiresMs: 0,
    }
    this.#keep(entry, ttl.profileMs)
    this.#entries.set(deviceId, entry)
    return entry
  }

  #keep(entry: Entry, forMs: number): void {
    entry.expiresMs = this.#nowMs() + forMs
  }

  #prune(): void {
    for (const [deviceId, entry] of this.#entries)
      if (entry.expiresMs <= this.#nowMs()) this.#entries.delete(deviceId)
    this.#pruneAt = Math.max(1_000, 2 * this.#entries.size)
  }
}
