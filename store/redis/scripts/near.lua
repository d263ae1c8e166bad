-- Counters with a radius: the events of one cell of limiter/kinds/place_grid, by time. A member is the event's
-- id, its amount or member, and where it was. Of an operation the place and the reach stand in its datum.
-- What a cell says is a part: how many are within reach, their value, and (distinct) which members;
-- near_reading.cc puts the parts of all cells together. So a ceiling is not judged here.
local ID, MEMBER = 12, 8

local function name(o, p)
  local what = (p.metric == DISTINCT or p.metric == EXISTS) and o.member or pack_('<d', o.amount)
  return o.id .. what .. sub(o.datum, 1, 24)
end
local function is_near(o, packed, at)
  local x, y, z = unpack_('<ddd', packed, at)
  x, y, z = x - o.x, y - o.y, z - o.z
  return x * x + y * y + z * z <= o.reach
end

local function part_of(p, list, o)
  local n, v = #list, 0
  if p.metric == DISTINCT then
    local seen, members = {}, {}
    for i = 1, n do
      if not seen[list[i]] then
        seen[list[i]] = true
        members[#members + 1] = list[i]
      end
    end
    return pack_('<dd', #members, 0) .. table.concat(members)
  end
  for i = 1, n do
    if p.metric == EXISTS then
      if list[i] == o.member then v = 1 end
    else
      local a = unpack_('<d', list[i])
      if p.metric == MINIMUM then
        v = i == 1 and a or min(v, a)
      elseif p.metric == MAXIMUM then
        v = i == 1 and a or max(v, a)
      else
        v = v + a
      end
    end
  end
  return pack_('<dd', n, v)
end

-- The two oldest become one, at the later time and place, so that a sum never undercounts.
local function merge_oldest(s, p)
  local two = call('ZRANGE', s.key, 0, 1, 'WITHSCORES')
  local both = clamp(unpack_('<d', two[1], ID + 1) + unpack_('<d', two[3], ID + 1), p.real)
  call('ZADD', s.key, two[4], sub(two[3], 1, ID) .. pack_('<d', both) .. sub(two[3], ID + MEMBER + 1))
  call('ZREM', s.key, two[1], two[3])
end

forms[FORM_NEAR] = {
  name = name,
  near = function(o, held)
    local kept = {}
    for i = 1, #held do
      if is_near(o, held[i], MEMBER + 1) then kept[#kept + 1] = sub(held[i], 1, MEMBER) end
    end
    return kept
  end,
  -- What is settled within reach goes.
  reset = function(s, o)
    local names = call('ZRANGE', s.key, 0, -1)
    for i = 1, #names do
      if is_near(o, names[i], ID + MEMBER + 1) then call('ZREM', s.key, names[i]) end
    end
  end,
  open = function(o, p, key)
    o.x, o.y, o.z, o.reach = unpack_('<dddd', o.datum)
    return {key = key, lo = max(now - p.a + 1, 1), hi = now + AHEAD}
  end,
  had = function(s, o, p)
    return p.metric ~= EXISTS and call('ZSCORE', s.key, name(o, p)) ~= false
  end,
  value = function(s, o, p, event, held)
    local itself = event and p.metric ~= EXISTS
    local names, list = call('ZRANGEBYSCORE', s.key, s.lo, s.hi), {}
    for i = max(1, #names - p.b + (itself and 2 or 1)), #names do
      -- Sent again, `exists` must not find itself.
      local other = not (o.retry and p.metric == EXISTS and sub(names[i], 1, ID) == o.id)
      if other and is_near(o, names[i], ID + MEMBER + 1) then
        list[#list + 1] = sub(names[i], ID + 1, ID + MEMBER)
      end
    end
    for i = 1, held and #held or 0 do list[#list + 1] = held[i] end
    if itself then list[#list + 1] = sub(name(o, p), ID + 1, ID + MEMBER) end
    return part_of(p, list, o)
  end,
  add = function(s, o, p, at)
    if now - at >= p.a then return false end
    call('ZADD', s.key, max(at, 1), name(o, p))
    call('ZREMRANGEBYSCORE', s.key, '-inf', '(' .. s.lo)
    local n = call('ZCARD', s.key)
    if p.metric == SUM then
      if n > max(p.b, 1) then merge_oldest(s, p) end
    elseif n > p.b + SLACK then
      call('ZREMRANGEBYRANK', s.key, 0, n - p.b - SLACK - 1)
    end
    call('PEXPIRE', s.key, ttl(p.a))
    return true
  end,
  take_back = function(s, o, p) call('ZREM', s.key, name(o, p)) end,
}
