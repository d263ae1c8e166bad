-- Events by their times (entries.lua). Equal amounts never merge, and events of one millisecond and one
-- worker keep their order. Integer sums keep their total as the score of a member T, scaled so that it is always the lowest.
local SCALE = 2 ^ 200

local function payload(o, p)
  if p.metric == DISTINCT or p.metric == EXISTS then return o.member end
  if p.metric == COUNT and p.window == LOG then return '' end
  return pack_('<d', o.amount)
end
local function amount_in(name) return (unpack_('<d', name, ID + 1)) end

local function listed(s, o, p)
  if s.list then return s.list end
  local names
  if p.window == EVENTS then
    local newest = call('ZREVRANGEBYSCORE', s.key, s.hi, s.lo, 'LIMIT', 0, p.keep)
    names = {}
    for i = #newest, 1, -1 do names[#names + 1] = newest[i] end
  else
    names = call('ZRANGEBYSCORE', s.key, s.lo, s.hi)
  end
  local list = {}
  for i = 1, #names do
    -- Sent again, `exists` must not find itself.
    if not (o.retry and p.metric == EXISTS and sub(names[i], 1, ID) == o.id) then
      list[#list + 1] = sub(names[i], ID + 1)
    end
  end
  s.list = list
  return list
end

-- The total of a clock that was set back by more than a minute: of what is left.
local function recount(s)
  local names = call('ZRANGEBYSCORE', s.key, s.lo, s.hi)
  s.total, s.n = 0, #names
  for i = 1, #names do s.total = s.total + amount_in(names[i]) end
  s.drop_ahead = true
end

local function open_total(s)
  local t = call('ZSCORE', s.key, 'T')
  if not t then
    s.total, s.n = 0, 0
    return
  end
  s.total = tonumber(t) * SCALE
  local gone = call('ZRANGEBYSCORE', s.key, 0.5, '(' .. s.lo)
  for i = 1, #gone do s.total = s.total - amount_in(gone[i]) end
  s.n = call('ZCARD', s.key) - 1 - #gone
  if call('ZCOUNT', s.key, '(' .. s.hi, '+inf') > 0 then recount(s) end
end

forms[FORM_LOG] = {
  open = function(o, p, key)
    local s = {key = key}
    s.lo = p.length > 0 and max(now - p.length + 1, 1) or 1
    s.hi = now + AHEAD
    s.counts = p.metric == COUNT and p.window == LOG
    s.totals = p.window == LOG and not p.real and (p.metric == SUM or p.metric == AVERAGE)
    if s.counts then
      s.n = call('ZCOUNT', key, s.lo, s.hi)
    elseif s.totals then
      open_total(s)
    end
    return s
  end,
  had = function(s, o, p)
    return p.metric ~= EXISTS and call('ZSCORE', s.key, o.id .. payload(o, p)) ~= false
  end,
  value = function(s, o, p, event, held)
    local more = event and o.amount or 0
    if s.counts then
      local v = min(s.n + more, p.keep)
      if held then for i = 1, #held do v = v + unpack_('<d', held[i]) end end
      return v
    end
    if s.totals then
      local v, n = s.total + more, s.n + (event and 1 or 0)
      if held then
        n = n + #held
        for i = 1, #held do v = v + unpack_('<d', held[i]) end
      end
      if p.metric == SUM then return clamp(v) end
      if n == 0 then return nil end
      return v / n
    end
    local live, list = listed(s, o, p), {}
    local room = p.window == EVENTS and p.keep or math.huge
    local itself = event and p.metric ~= EXISTS
    if p.metric == EXISTS and not event then return 0 end
    if itself then room = room - 1 end
    local open = held and min(#held, room) or 0
    for i = max(1, #live - (room - open) + 1), #live do list[#list + 1] = live[i] end
    for i = 1, open do list[#list + 1] = held[#held - open + i] end
    if itself then
      list[#list + 1] = p.metric == DISTINCT and o.member or pack_('<d', o.amount)
    end
    local n, v = fold(p, list, o)
    if p.metric == EXISTS then return v end
    if p.metric == DISTINCT then return n end
    if n == 0 and p.metric >= AVERAGE then return nil end
    if p.metric == AVERAGE then return v / n end
    if p.metric == SUM or p.metric == COUNT then return clamp(v, p.real) end
    return v
  end,
  add = function(s, o, p, at)
    if p.length > 0 and now - at >= p.length then return false end
    at = max(at, 1)
    local name, n = o.id .. payload(o, p), 1
    if s.totals then
      s.total = clamp(s.total + o.amount)
      call('ZADD', s.key, s.total / SCALE, 'T', at, name)
      s.n = s.n + 1
    else
      call('ZADD', s.key, at, name)
      if s.counts then
        n = min(o.amount, p.keep)
        for i = 2, n do call('ZADD', s.key, at, o.id .. pack_('>I4', i)) end
        s.n = s.n + n
      end
      s.list = nil
    end
    if s.drop_ahead then call('ZREMRANGEBYSCORE', s.key, '(' .. s.hi, '+inf') end
    call('ZREMRANGEBYSCORE', s.key, 0.5, '(' .. s.lo)
    if p.window == EVENTS then
      call('ZREMRANGEBYRANK', s.key, 0, -(p.keep + SLACK + 1))
    elseif s.counts then
      if s.n > p.keep + SLACK then
        call('ZREMRANGEBYRANK', s.key, 0, s.n - p.keep - SLACK - 1)
        s.n = p.keep + SLACK
      end
    else
      local live = s.totals and s.n or call('ZCARD', s.key)
      if live > max(p.keep, 2) then
        if p.metric == SUM then
          local two = call('ZRANGEBYSCORE', s.key, s.lo, s.hi, 'WITHSCORES', 'LIMIT', 0, 2)
          if #two == 4 then merge(s, p, two) end
          s.n = s.totals and s.n - 1
        elseif s.totals then
          local oldest = call('ZRANGEBYSCORE', s.key, s.lo, s.hi, 'LIMIT', 0, 1)[1]
          s.total = s.total - amount_in(oldest)
          s.n = s.n - 1
          call('ZADD', s.key, s.total / SCALE, 'T')
          call('ZREM', s.key, oldest)
        else
          call('ZREMRANGEBYRANK', s.key, 0, live - p.keep - 1)
        end
      end
    end
    call('PEXPIRE', s.key, ttl(p.length > 0 and p.length or FOREVER))
    return true
  end,
  take_back = function(s, o, p)
    if call('ZREM', s.key, o.id .. payload(o, p)) == 0 then return end
    if s.totals and o.at >= s.lo then
      s.total, s.n = s.total - o.amount, s.n - 1
      call('ZINCRBY', s.key, -o.amount / SCALE, 'T')
    end
    if s.counts then
      local n = min(o.amount, p.keep)
      for i = 2, n do call('ZREM', s.key, o.id .. pack_('>I4', i)) end
      if o.at >= s.lo then s.n = s.n - n end
    end
    s.list = nil
  end,
}
