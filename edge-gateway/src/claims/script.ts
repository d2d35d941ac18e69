import { refuseByUs, ttl } from './claims.ts'

/*
 * The hash dev:{id}: `v` credential version, `t` token SHA-256 (bytes), `s` standing (number of the enum), `h` heartbeat
 * interval ms, `w` when the token is to be renewed (ms), `k` key of the device (hex), `p` time of its last proof, `f` epoch floor, `r` when the profile was written (Redis clock, µs), `e` epoch, `n` node, `d` highest dead
 * credential version, `l` the database's life that all but `e`, `n` and `p` are of.
 *
 * Lua's tostring() rounds numbers of 16 digits, so epochs are written with %.0f; as doubles they are exact below 2^53.
 */

const now = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
`

/** Standings of svc.v1.Standing. */
const standing = { unknown: 0, active: 1, quarantined: 2, decommissioned: 3 } as const

/**
 * Of an earlier life of the database than ARGV[n]: nothing is left of it; of a later one: this is not taken. 0 says nothing.
 * Epoch, node and the last proof stay.
 */
const ofLife = (n: number) => `
local life = tonumber(ARGV[${n}])
if life > 0 then
  local stored = tonumber(redis.call('HGET', KEYS[1], 'l') or 0)
  if stored > life then return 0 end
  if stored < life then
    redis.call('HDEL', KEYS[1], 'v', 't', 's', 'h', 'w', 'k', 'f', 'r', 'd')
    redis.call('HSET', KEYS[1], 'l', ARGV[${n}])
  end
end
`

/**
 * Tells a node that it has lost the device to a connection of that epoch, in the step that makes it true: who takes a claim may die
 * or give up before it hears of it, and then nobody else would know whom to tell. ARGV[n] to ARGV[n + 2] are the channel without
 * the node, and the message before and after the epoch, for which eight bytes of a varint are written.
 */
const tell = (n: number) => `
local function tell(node, epoch)
  local bytes, rest = {}, epoch
  for i = 1, 8 do
    bytes[i] = string.char(rest % 128 + (i < 8 and 128 or 0))
    rest = math.floor(rest / 128)
  end
  redis.call('PUBLISH', ARGV[${n}] .. node, ARGV[${n + 1}] .. table.concat(bytes) .. ARGV[${n + 2}])
end
`

/** KEYS: device. ARGV: token SHA-256, node, nowUs, life, asked (1), proven key, time of that proof, and whom to tell and what. */
export const admit = `
${tell(8)}
local p = redis.call('HMGET', KEYS[1], 'v', 't', 's', 'h', 'f', 'r', 'e', 'n', 'd', 'l', 'k', 'p', 'w')
if not p[3] then return {'miss'} end
if tonumber(p[10] or 0) < tonumber(ARGV[4]) then return {'miss'} end
-- A gateway of the version before wrote it, and does not say whether the device has a key.
if not p[11] then return {'miss'} end
${now}
local standing = tonumber(p[3])
local refusal = false
if standing == ${standing.unknown} then refusal = 'CREDENTIAL_INVALID'
elseif standing == ${standing.quarantined} then refusal = 'QUARANTINED'
elseif standing == ${standing.decommissioned} then refusal = 'DECOMMISSIONED'
elseif p[2] ~= ARGV[1] then
  if ARGV[5] ~= '1' then return {'miss'} end
  refusal = 'CREDENTIAL_INVALID'
elseif p[9] and tonumber(p[1]) <= tonumber(p[9]) then return {'miss'}
end
if refusal then
  if now - tonumber(p[6] or 0) > ${refuseByUs} then return {'miss'} end
  return {'refused', refusal}
end
if (p[11] or '') ~= '' then
  if p[11] ~= ARGV[6] then return {'prove', p[11]} end
  if tonumber(ARGV[7]) <= tonumber(p[12] or 0) then return {'refused', 'PROOF_STALE'} end
  redis.call('HSET', KEYS[1], 'p', ARGV[7])
end
local epoch = math.max(tonumber(p[7] or 0) + 1, tonumber(p[5] or 0) + 1, tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], 'e', string.format('%.0f', epoch), 'n', ARGV[2])
redis.call('PEXPIRE', KEYS[1], p[9] and ${ttl.deadMs} or ${ttl.profileMs})
if p[8] and p[8] ~= ARGV[2] then tell(p[8], epoch) end
return {'admitted', string.format('%.0f', epoch), p[1], p[4], p[8] or '', p[7] or '0', p[13] or '0'}
`

/** KEYS: device. ARGV: version, token SHA-256, standing, heartbeat ms, epoch floor, life, renewal, key. */
export const remember = `
${ofLife(6)}
local dead = redis.call('HGET', KEYS[1], 'd')
local standing = tonumber(ARGV[3])
if dead and standing == ${standing.active} and tonumber(ARGV[1]) <= tonumber(dead) then return 0 end
local old = redis.call('HGET', KEYS[1], 'v')
if old and tonumber(ARGV[1]) < tonumber(old) and standing ~= ${standing.unknown} then return 0 end
${now}
redis.call('HSET', KEYS[1], 'v', ARGV[1], 't', ARGV[2], 's', ARGV[3], 'h', ARGV[4], 'f', ARGV[5], 'w', ARGV[7], 'k', ARGV[8], 'r', string.format('%.0f', now))
local ttl = ${ttl.profileMs}
if dead then ttl = ${ttl.deadMs}
elseif standing == ${standing.unknown} then ttl = ${ttl.unknownMs} end
redis.call('PEXPIRE', KEYS[1], ttl)
return 1
`

/** KEYS: device. ARGV: version, life. Forgets the profile unless it is a newer one; the epoch stays. */
export const revoke = `
${ofLife(2)}
local p = redis.call('HMGET', KEYS[1], 'd', 'v')
if not p[1] or tonumber(p[1]) < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'd', ARGV[1]) end
if p[2] and tonumber(p[2]) <= tonumber(ARGV[1]) then redis.call('HDEL', KEYS[1], 'v', 't', 's', 'h', 'w', 'k', 'f', 'r') end
redis.call('PEXPIRE', KEYS[1], ${ttl.deadMs})
return 1
`

/** KEYS: device. ARGV: node, epoch. */
export const release = `
local p = redis.call('HMGET', KEYS[1], 'n', 'e')
if p[1] ~= ARGV[1] or p[2] ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], 'n')
`

/** KEYS: device. ARGV: node (empty: raise the epoch alone), epoch, and whom to tell and what. Answers whether the claim is theirs. */
export const hold = `
${tell(3)}
local p = redis.call('HMGET', KEYS[1], 'e', 'n')
if tonumber(p[1] or 0) > tonumber(ARGV[2]) then return 'lost' end
redis.call('HSET', KEYS[1], 'e', ARGV[2])
if ARGV[1] ~= '' then
  if p[2] and p[2] ~= ARGV[1] then tell(p[2], tonumber(ARGV[2])) end
  redis.call('HSET', KEYS[1], 'n', ARGV[1])
end
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ${ttl.profileMs}) end
return 'held'
`
