-- Buckets of one quantum, oldest first, in one string: base stamp, newest stamp - base, total, tags,
-- the total without the newest bucket, then entries of {stamp - base, value}; only buckets that hold
-- something. Where amounts are integers the newest one's value is what the totals say, and its entry
-- is behind: an event more then changes the total alone (ring_plain.lua). The same buckets as the local
-- ring: true(W) <= value <= true(W + W/N).
--
-- A counter that does not remember events has a hash instead: the newest bucket's stamp -> the
-- total, so that an event is one HINCRBY; and, where there are older buckets, b -> base stamp, their
-- total, their entries.
local HEAD = 48
local function shape(p)
  if p.metric == SUM then return '<I2d', 10 end
  return '<I2I4', 6
end

-- All entries again, from another base.
local function rebase(s, base)
  local out, n = {}, 0
  for i = 1, #s.body, s.size do
    local d, v = unpack_(s.shape, s.body, i)
    n = n + 1
    out[n] = pack_(s.shape, s.base + d - base, v)
  end
  s.body, s.base = table.concat(out), base
end

local function of_bucket(s, value) return s.size == 6 and min(value, 4294967295) or value end

local function store_ring(s, p)
  local newest, v = unpack_(s.shape, s.body, #s.body - s.size + 1)
  if not p.remembers then
    local field = string.format('%.0f', s.base + newest)
    call('HSET', s.key, field, string.format('%.0f', s.total), 'b',
      pack_('<I6d', s.base, s.total - v) .. sub(s.body, 1, -s.size - 1))
    if s.field and s.field ~= field then call('HDEL', s.key, s.field) end
    s.field = field
    call('PEXPIRE', s.key, ttl((p.span + 1) * p.quantum))
    return
  end
  call('SET', s.key, pack_('<I6I2dc24d', s.base, newest, s.total, s.tags, s.total - v) .. s.body,
    'PX', ttl((p.span + 1) * p.quantum))
end

-- Into s: base, total, tags, all entries. Returns the newest one's stamp - base and the total without
-- it; nil if there is nothing.
local function load_ring(s, p)
  if p.remembers then
    local raw = call('GET', s.key)
    if not raw then return nil end
    if #raw < HEAD + s.size then error('no ring') end
    local newest, closed
    s.base, newest, s.total, s.tags, closed = unpack_('<I6I2dc24d', raw)
    s.body = sub(raw, HEAD + 1)
    return newest, closed
  end
  local raw, older = call('HGETALL', s.key), nil
  for i = 1, #raw, 2 do
    if raw[i] == 'b' then older = raw[i + 1] else s.field, s.total = raw[i], tonumber(raw[i + 1]) end
  end
  if not s.field then return nil end
  local stamp, closed = tonumber(s.field), 0
  s.base = stamp
  if older and #older > 14 then
    s.base, closed = unpack_('<I6d', older)
    s.body = sub(older, 15)
  end
  s.body = s.body .. pack_(s.shape, stamp - s.base, 0)
  return stamp - s.base, closed
end

-- Where the bucket of that stamp is, or where it would be; and its value.
local function bucket(s, stamp)
  local i = #s.body - s.size + 1
  while i >= 1 do
    local d, v = unpack_(s.shape, s.body, i)
    if s.base + d == stamp then return i, v end
    if s.base + d < stamp then break end
    i = i - s.size
  end
  return i + s.size, nil
end

forms[FORM_RING] = {
  open = function(o, p, key)
    local s = {key = key, total = 0, tags = NO_TAGS, body = '', base = 0, live = false}
    s.shape, s.size = shape(p)
    s.stamp = floor(now / p.quantum)
    local newest, closed = load_ring(s, p)
    if not newest then return s end
    if (s.base + newest) * p.quantum - now > AHEAD then
      s.total, s.tags, s.body = 0, NO_TAGS, ''
      return s
    end
    s.live = true
    if not p.real then
      local v = of_bucket(s, s.total - closed)
      s.total = closed + v
      s.body = sub(s.body, 1, -s.size - 1) .. pack_(s.shape, newest, v)
    end
    local at, oldest = 1, s.stamp - p.span
    while at < #s.body do
      local d, v = unpack_(s.shape, s.body, at)
      if s.base + d >= oldest then break end
      s.total = s.total - v
      at = at + s.size
    end
    s.body = sub(s.body, at)
    if s.body == '' then s.total = 0 end
    return s
  end,
  had = function(s, o) return s.live and tagged(s.tags, o) end,
  value = function(s, o, p, event, held)
    local v
    if p.real then -- added up again each time, in order: nothing drifts
      local here = event and o.amount
      v = 0
      for i = 1, #s.body, s.size do
        local d, w = unpack_(s.shape, s.body, i)
        v = v + w
        if here and s.base + d == s.stamp then v = v + here; here = nil end
      end
      v = v + (here or 0)
    else
      v = s.total + (event and o.amount or 0)
    end
    if held then for i = 1, #held do v = v + unpack_('<d', held[i]) end end
    return clamp(v, p.real)
  end,
  add = function(s, o, p, at)
    local stamp = floor(at / p.quantum)
    if stamp < s.stamp - p.span then return false end
    if s.body == '' then s.base = stamp end
    if stamp < s.base or stamp - s.base > 60000 then
      rebase(s, min(stamp, s.base + unpack_('<I2', s.body, 1)))
    end
    local i, v = bucket(s, stamp)
    local sum = of_bucket(s, clamp((v or 0) + o.amount, p.real))
    local entry = pack_(s.shape, stamp - s.base, sum)
    s.body = sub(s.body, 1, i - 1) .. entry .. sub(s.body, v and i + s.size or i)
    s.total = s.total + (sum - (v or 0))
    s.tags = with_tag(s.tags, o)
    s.live = true
    store_ring(s, p)
    return true
  end,
  take_back = function(s, o, p)
    if s.body == '' or (o.retry and not tagged(s.tags, o)) then return end
    local stamp = floor(o.at / p.quantum)
    local i, v = bucket(s, stamp)
    if not v then return end
    local left = v - o.amount
    if p.metric ~= SUM then left = max(left, 0) end
    s.total = s.total - (v - left)
    local entry = left ~= 0 and pack_(s.shape, stamp - s.base, left) or ''
    s.body = sub(s.body, 1, i - 1) .. entry .. sub(s.body, i + s.size)
    s.tags = without_tag(s.tags, o)
    if s.body == '' then call('DEL', s.key) else store_ring(s, p) end
  end,
}
