-- Buckets of one quantum, oldest first, in one string: base stamp, total, tags, then entries of
-- {stamp - base, value}; only buckets that hold something. The same buckets as the local ring:
-- true(W) <= value <= true(W + W/N).
local BODY = 15 + TAGS * TAG_BYTES
local function shape(p)
  if p.metric == SUM then return '<I2d', 10 end
  return '<I2I4', 6
end

-- All entries anew, from another base.
local function rebase(s, base)
  local out, n = {}, 0
  for i = 1, #s.body, s.size do
    local d, v = unpack_(s.shape, s.body, i)
    n = n + 1
    out[n] = pack_(s.shape, s.base + d - base, v)
  end
  s.body, s.base = table.concat(out), base
end

local function store_ring(s, p)
  call('SET', s.key, pack_('<I6d', s.base, s.total) .. s.tags .. s.body, 'PX', ttl((p.b + 1) * p.a))
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

forms[1] = {
  -- As fixed.lua has it.
  fast = function(key, id, amount, inclusive, real, metric, kind, limit, a, b)
    if real then return nil end
    local raw = call('GET', key)
    if not raw then return nil end
    local shape_, size = '<I2I4', 6
    if metric == SUM then shape_, size = '<I2d', 10 end
    local length = #raw
    if length < BODY + size - 1 then return nil end
    local base, total = unpack_('<I6d', raw)
    local d, v = unpack_(shape_, raw, length - size + 1)
    local stamp = floor(now / a)
    local newest = base + d
    if newest > stamp or stamp - base > 60000 or newest < stamp - b then return nil end
    local at, oldest = BODY, stamp - b - base
    while true do
      local first, gone = unpack_(shape_, raw, at)
      if first >= oldest then break end
      total = total - gone
      at = at + size
    end
    local value = clamp(total + amount, false)
    if value > limit or (inclusive and value >= limit) then return value, 0 end
    local last = length
    if newest == stamp then last = length - size else v = 0 end
    local sum = clamp(v + amount, false)
    if size == 6 then sum = min(sum, 4294967295) end
    local packed = pack_('<I6d', base, total + (sum - v)) .. sub(id, 5, 6) .. sub(id, 9, 12) ..
      sub(raw, 15, BODY - TAG_BYTES - 1) .. sub(raw, at, last) .. pack_(shape_, stamp - base, sum)
    if newest == stamp then -- its bucket's first event has set a time that is long enough
      call('SET', key, packed, 'KEEPTTL')
    else
      call('SET', key, packed, 'PX', spell((b + 1) * a).ttl)
    end
    return value, 1
  end,
  open = function(o, p, key)
    local s = {key = key, total = 0, tags = NO_TAGS, body = '', base = 0, live = false}
    s.shape, s.size = shape(p)
    s.stamp = floor(now / p.a)
    local raw = call('GET', key)
    if not raw then return s end
    local newest = unpack_('<I2', raw, #raw - s.size + 1)
    s.base, s.total = unpack_('<I6d', raw)
    if #raw < BODY or (s.base + newest) * p.a - now > AHEAD then
      s.total = 0
      return s
    end
    s.tags, s.live = sub(raw, 15, BODY - 1), true
    local at, oldest = BODY, s.stamp - p.b
    while at < #raw do
      local d, v = unpack_(s.shape, raw, at)
      if s.base + d >= oldest then break end
      s.total = s.total - v
      at = at + s.size
    end
    s.body = sub(raw, at)
    if s.body == '' then s.total = 0 end
    return s
  end,
  had = function(s, o) return s.live and tagged(s.tags, o) end,
  value = function(s, o, p, event, held)
    local v
    if p.real then -- added up anew each time, in order: nothing drifts
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
    local stamp = floor(at / p.a)
    if stamp < s.stamp - p.b then return false end
    if s.body == '' then s.base = stamp end
    if stamp < s.base or stamp - s.base > 60000 then
      rebase(s, min(stamp, s.base + unpack_('<I2', s.body, 1)))
    end
    local i, v = bucket(s, stamp)
    local sum = clamp((v or 0) + o.amount, p.real)
    if s.size == 6 then sum = min(sum, 4294967295) end
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
    local stamp = floor(o.at / p.a)
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
