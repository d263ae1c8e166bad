-- Counters with a radius: the events of one cell of limiter/kinds/place_grid (entries.lua). Of an operation
-- the place and the reach are in its datum. What a cell says is a part: what the
-- fold gives of the events within reach; near_reading.cc puts the parts of all cells together. So a ceiling is
-- not judged here.
local function name(o, p)
  local what = (p.metric == DISTINCT or p.metric == EXISTS) and o.member or pack_('<d', o.amount)
  return o.id .. what .. sub(o.datum, 1, 24)
end
local function is_near(o, packed, at)
  local x, y, z = unpack_('<ddd', packed, at)
  x, y, z = x - o.x, y - o.y, z - o.z
  return x * x + y * y + z * z <= o.reach
end

forms[FORM_NEAR] = {
  name = name,
  near = function(o, held)
    local kept = {}
    for i = 1, #held do
      if is_near(o, held[i], PAYLOAD + 1) then kept[#kept + 1] = sub(held[i], 1, PAYLOAD) end
    end
    return kept
  end,
  -- What is settled within reach goes.
  reset = function(s, o)
    local names = call('ZRANGE', s.key, 0, -1)
    for i = 1, #names do
      if is_near(o, names[i], ID + PAYLOAD + 1) then call('ZREM', s.key, names[i]) end
    end
  end,
  open = function(o, p, key)
    o.x, o.y, o.z, o.reach = unpack_('<dddd', o.datum)
    return {key = key, lo = max(now - p.length + 1, 1), hi = now + AHEAD}
  end,
  had = function(s, o, p)
    return p.metric ~= EXISTS and call('ZSCORE', s.key, name(o, p)) ~= false
  end,
  value = function(s, o, p, event, held)
    local itself = event and p.metric ~= EXISTS
    -- A full cell drops its oldest event for one that is counted. In a sum the two oldest have become one.
    local drops = itself and (p.metric == COUNT or p.metric == DISTINCT)
    local names, list = call('ZRANGEBYSCORE', s.key, s.lo, s.hi), {}
    for i = max(1, #names - p.keep + (drops and 2 or 1)), #names do
      -- Sent again, `exists` must not find itself.
      local other = not (o.retry and p.metric == EXISTS and sub(names[i], 1, ID) == o.id)
      if other and is_near(o, names[i], ID + PAYLOAD + 1) then
        list[#list + 1] = sub(names[i], ID + 1, ID + PAYLOAD)
      end
    end
    for i = 1, held and #held or 0 do list[#list + 1] = held[i] end
    if itself then list[#list + 1] = sub(name(o, p), ID + 1, ID + PAYLOAD) end
    local n, v, members = fold(p, list, o)
    return pack_('<dd', n, v) .. (members and table.concat(members) or '')
  end,
  add = function(s, o, p, at)
    if now - at >= p.length then return false end
    call('ZADD', s.key, max(at, 1), name(o, p))
    call('ZREMRANGEBYSCORE', s.key, '-inf', '(' .. s.lo)
    local n = call('ZCARD', s.key)
    if p.metric == SUM then
      if n > max(p.keep, 1) then merge(s, p, call('ZRANGE', s.key, 0, 1, 'WITHSCORES')) end
    elseif n > p.keep + SLACK then
      call('ZREMRANGEBYRANK', s.key, 0, n - p.keep - SLACK - 1)
    end
    call('PEXPIRE', s.key, ttl(p.length))
    return true
  end,
  take_back = function(s, o, p) call('ZREM', s.key, name(o, p)) end,
}
