-- A bucket that loses p.drains every p.drain ms (limiter/kinds/leaky.cc has the arithmetic, and why): at, level,
-- busy since, ran empty, tags, members. The level is in 1/p.drain unless amounts are doubles.
local function drained(p, level, ms)
  ms = max(ms, 0)
  if p.real then return max(0, level - ms * p.drains / p.drain) end
  return max(0, level - ms * p.drains)
end
local function poured(o, p)
  local amount = p.metric == DISTINCT and 1 or o.amount
  return p.real and amount or amount * p.drain
end
local function within(p, level)
  if p.real then return min(level, p.capacity) end
  return min(level, floor(p.capacity * p.drain))
end
-- Whole levels are integers; others are never rounded down, least of all onto an integer.
local function level_of(p, level)
  if p.real then return level end
  local v = level / p.drain
  if level % p.drain ~= 0 and v % 1 == 0 then return v * (1 + 2 ^ -52) end
  return v
end
local function holds(s, member)
  for i = 1, #s.members, 8 do
    if sub(s.members, i, i + 7) == member then return i end
  end
  return nil
end
local function store_leaky(s, p)
  local takes = (p.real and s.level * p.drain or s.level) / p.drains
  call('SET', s.key, pack_('<dddd', s.at, s.level, s.busy, s.empty) .. s.tags .. s.members, 'PX',
    ttl(math.ceil(takes)))
end

forms[FORM_LEAKY] = {
  open = function(o, p, key)
    local s = {key = key, at = 0, level = 0, over = 0, busy = 0, empty = 0, tags = NO_TAGS, members = ''}
    local raw = call('GET', key)
    if not raw then return s end
    s.live = true
    s.at, s.level, s.busy, s.empty = unpack_('<dddd', raw)
    s.tags, s.members = sub(raw, 33, 32 + #NO_TAGS), sub(raw, 33 + #NO_TAGS)
    if s.at - now > AHEAD then -- the clock was set back
      s.at, s.level, s.members, s.empty = now, 0, '', now
    elseif now > s.at then
      local before = s.level
      s.level = drained(p, before, now - s.at)
      if s.level == 0 then
        s.members = ''
        if before > 0 then
          s.empty = min(now, s.at + math.ceil((p.real and before * p.drain or before) / p.drains))
        end
      end
      s.at = now
    end
    return s
  end,
  had = function(s, o) return tagged(s.tags, o) end,
  value = function(s, o, p, event, held)
    local level, seen = s.level + s.over, {} -- a settled event is judged by the level before capping
    local distinct = p.metric == DISTINCT
    local function pour(bits)
      if distinct then
        if seen[bits] or (s.level > 0 and holds(s, bits)) then return end
        seen[bits] = true
        level = level + p.drain
      else
        local amount = unpack_('<d', bits)
        level = level + (p.real and amount or amount * p.drain)
      end
    end
    if held then for i = 1, #held do pour(held[i]) end end
    if event then pour(distinct and o.member or pack_('<d', o.amount)) end
    return level_of(p, level)
  end,
  add = function(s, o, p, at)
    s.undo = -1 -- nothing was poured
    if not s.live or s.level == 0 then s.at = max(s.at, now) end
    if at == now then at = s.at end
    if p.metric == DISTINCT and s.level > 0 and holds(s, o.member) then return true end
    local was_empty = s.level == 0
    local busy = was_empty and s.at or s.busy
    local from = max(at, s.empty)
    local more = drained(p, poured(o, p), busy - from)
    if more == 0 then return true end
    local after = within(p, s.level + more)
    if was_empty or from < busy then s.busy = from end
    s.undo = after - s.level
    s.over = s.level + more - after
    s.level = after
    if p.metric == DISTINCT then
      if #s.members >= 8 * p.keep then s.members = sub(s.members, 9) end
      s.members = s.members .. o.member
    end
    s.tags, s.live = with_tag(s.tags, o), true
    store_leaky(s, p)
    return true
  end,
  take_back = function(s, o, p)
    if o.undo < 0 or s.level == 0 or (o.retry and not tagged(s.tags, o)) then return end
    if p.metric == DISTINCT then
      local i = holds(s, o.member)
      if not i then return end
      s.members = sub(s.members, 1, i - 1) .. sub(s.members, i + 8)
    end
    s.level = max(0, s.level - o.undo)
    if s.level == 0 then
      s.members = ''
      s.empty = max(s.empty, s.busy)
    end
    s.tags = without_tag(s.tags, o)
    store_leaky(s, p)
  end,
}
