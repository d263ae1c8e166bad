-- One list that all replicas share: a replica says what it has changed and hears what others have,
-- in one call. A call without changes writes nothing.
--
-- KEYS  records (hash): key -> record; besides 'e' the epoch, 's' the last sequence, 't' when all
--       of it goes; then two sorted sets of the same keys: by the sequence of their last change, and
--       by when nobody needs them any more. Each has one member '', so that an empty set exists.
--       Then a sorted set of the tombstones by the sequence of their last change. Where there is no
--       room for a new key the oldest tombstone gives way. A version without this set has not put
--       its tombstones there, and may have listed their keys again.
-- ARGV  1: the epoch and the sequence that the caller knows, its own name, an epoch if there is none
--       yet, how many changes it takes, how many keys there may be. Then a change each:
--       key (16 bytes), removed, listed, until, needed until (doubles, ms, 0: not so), entry.
-- Answer: now (ms), epoch ('' if there is nothing), sequence known from now on, 1 if there are more,
--       how many; of each sequence, key, record; then of each change what became of it (1 something
--       was changed, 2 the caller's listing made the entry, 4 no room), and the record if it is
--       not what the caller said.
--
-- A record: removed, listed, until (0: a tombstone), needed until, who made the entry (8 bytes),
-- entry. Times are this server's. A removal voids what was listed before it or in the same
-- millisecond; of two listings the later end wins. So the order in which changes arrive, and how often,
-- makes no difference. Sequences are microseconds where possible: after a fail-over that lost some,
-- new ones are still larger than most that anybody has seen.
local call, floor, max, min = redis.call, math.floor, math.max, math.min
local sub, unpack_, pack_, format = string.sub, struct.unpack, struct.pack, string.format
local HOUR = 3600000
local TOMBSTONES_LOOKED_AT = 8
local records, order, terms, tombstones = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known_epoch, known, caller, new_epoch, most_changes, most_keys =
  unpack_('<c16dc8c16dd', ARGV[1])

local clock = call('TIME')
local now = clock[1] * 1000 + floor(clock[2] / 1000)
local stamp = clock[1] * 1000000 + clock[2]

-- All three or nothing: what Redis has evicted in part is worth nothing. The tombstones may be missing:
-- then none gives way.
local there = call('EXISTS', records, order, terms)
local epoch, last, ends = false, 0, 0
if there == 3 then
  local head = call('HMGET', records, 'e', 's', 't')
  if head[1] and head[2] then epoch, last, ends = head[1], tonumber(head[2]), tonumber(head[3] or 0) end
end

local out = {now, '', 0, 0, 0}
local n = 5

if epoch ~= known_epoch then known = 0 end
if epoch and last > known then
  local found = call('ZRANGEBYSCORE', order, format('(%.0f', known), '+inf', 'WITHSCORES', 'LIMIT', 0,
    most_changes)
  local count = #found / 2
  if count > 0 then
    local keys = {}
    for i = 1, count do keys[i] = found[2 * i - 1] end
    local all = call('HMGET', records, unpack(keys))
    for i = 1, count do
      out[n + 1], out[n + 2], out[n + 3] = tonumber(found[2 * i]), keys[i], all[i] or ''
      n = n + 3
    end
    if count == most_changes then
      out[3], out[4] = tonumber(found[2 * count]), 1
    end
    out[5] = count
  end
end

local function forget(keys)
  call('HDEL', records, unpack(keys))
  for i = 2, #KEYS do call('ZREM', KEYS[i], unpack(keys)) end
end

local function make_room()
  local oldest = call('ZRANGEBYSCORE', tombstones, '-inf', '+inf', 'LIMIT', 0, TOMBSTONES_LOOKED_AT)
  for i = 1, #oldest do
    local record = call('HGET', records, oldest[i])
    if record and unpack_('<d', record, 17) == 0 then
      forget({oldest[i]})
      return true
    end
    call('ZREM', tombstones, oldest[i])
  end
  return false
end

local function write(key, record, needed, is_tombstone)
  last = max(last + 1, stamp)
  local text = format('%.0f', last)
  if not epoch then
    call('DEL', records, order, terms, tombstones)
    epoch = new_epoch
    call('HSET', records, key, record, 's', text, 'e', epoch)
    call('ZADD', order, 0, '')
    call('ZADD', terms, '+inf', '')
  else
    call('HSET', records, key, record, 's', text) -- first: Redis 7.0 refuses it without memory
  end
  call('ZADD', order, text, key)
  call('ZADD', terms, format('%.0f', needed), key)
  if is_tombstone then
    call('ZADD', tombstones, text, key)
  else
    call('ZREM', tombstones, key)
  end
  if needed + HOUR / 2 > ends then
    ends = needed + HOUR
    local at = format('%.0f', ends)
    call('HSET', records, 't', at)
    for i = 1, #KEYS do call('PEXPIREAT', KEYS[i], at) end
  elseif is_tombstone then -- the set may be new
    call('PEXPIREAT', tombstones, format('%.0f', ends))
  end
end

-- What becomes of a change, and the record where it differs from what was said.
local function apply(change)
  local key = sub(change, 1, 16)
  local removal, listing, till, need, at = unpack_('<dddd', change, 17)
  local record = epoch and call('HGET', records, key)
  local removed, listed, ending, needed, maker, entry = 0, 0, 0, 0, caller, ''
  if record then
    local from
    removed, listed, ending, needed, maker, from = unpack_('<ddddc8', record)
    entry = sub(record, from)
  elseif epoch and (removal > 0 or (listing > 0 and need > now)) and
      call('HLEN', records) - 3 >= most_keys and not make_room() then
    return 4, ''
  end
  local changed = false
  if removal > removed then
    removed, changed = removal, true
    needed = max(needed, now + min(max(ending - now, HOUR), 168 * HOUR))
    if listed <= removed then ending, entry = 0, '' end
  end
  if listing > removed and need > now then
    if till > ending then
      if ending <= now then maker = caller end
      ending, needed, entry, changed = till, max(needed, need), sub(change, at), true
    end
    -- Also where it ends earlier: a removal between the two that is still to come must not void it.
    if listing > listed then listed, changed = listing, true end
  end
  if changed then
    record = pack_('<dddd', removed, listed, ending, needed) .. maker .. entry
    write(key, record, needed, ending == 0)
  end
  local flags = (changed and 1 or 0) + (ending > now and maker == caller and 2 or 0)
  local as_said = removed == removal and ending == (listing > 0 and till or 0)
  return flags, as_said and '' or record or ''
end

for i = 2, #ARGV do
  out[n + 1], out[n + 2] = apply(ARGV[i])
  n = n + 2
end

if #ARGV > 1 and epoch then
  local over = call('ZRANGEBYSCORE', terms, '-inf', now, 'LIMIT', 0, 2 * #ARGV)
  if #over > 0 then forget(over) end
end

out[2] = epoch or ''
if out[4] == 0 then out[3] = last end
return out
