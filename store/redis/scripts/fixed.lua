-- A total, and when its window began. A counter that remembers events (codec.cc decides) is a string:
-- begin, total, tags. Every other counter is a hash with one field, named after the number or the beginning
-- of the window. So an event is one HINCRBY, and an old window is never taken for the new one.
-- `undo`, which nothing else here wants, says when, of a window that began with its first event.
local function unit(p) return p.window == EVERY and p.length or 1 end

local function load_fixed(s, p)
  if p.remembers then
    local raw = call('GET', s.key)
    if not raw then return nil end
    s.tags = sub(raw, 17)
    return unpack_('<dd', raw)
  end
  local raw = call('HGETALL', s.key)
  s.field = raw[1]
  if not raw[1] then return nil end
  return raw[1] * unit(p), tonumber(raw[2])
end

local function store_fixed(s, p)
  local lasts = ttl(s.e - now)
  if p.remembers then
    call('SET', s.key, pack_('<dd', s.b, s.total) .. s.tags, 'PX', lasts)
    return
  end
  local field = string.format('%.0f', s.b / unit(p))
  call('HSET', s.key, field, string.format('%.0f', s.total))
  if s.field and s.field ~= field then call('HDEL', s.key, s.field) end
  s.field = field
  call('PEXPIRE', s.key, lasts)
end

forms[FORM_FIXED] = {
  open = function(o, p, key)
    local s = {key = key, total = 0, tags = NO_TAGS}
    local began, total = load_fixed(s, p)
    s.b, s.e, s.live = current(p, began)
    if s.live then
      s.total = total
      s.undo = p.window == EVERY_FIRST and s.b
    else
      s.tags = NO_TAGS
    end
    return s
  end,
  had = function(s, o) return s.live and tagged(s.tags, o) end,
  value = function(s, o, p, event, held)
    local v = s.total
    if event then v = v + o.amount end
    if held then for i = 1, #held do v = v + unpack_('<d', held[i]) end end
    return clamp(v, p.real)
  end,
  add = function(s, o, p, at)
    if at ~= now then
      if not covers(p, s.b, s.e, at) then return false end
      if p.window == EVERY_FIRST and not s.live then s.b = at; s.e = at + p.length end
    end
    s.total = clamp(s.total + o.amount, p.real)
    s.tags = with_tag(s.tags, o)
    s.live = true
    s.undo = p.window == EVERY_FIRST and s.b
    store_fixed(s, p)
    return true
  end,
  take_back = function(s, o, p)
    if not s.live or o.at < s.b or (o.retry and not tagged(s.tags, o)) then return end
    if not p.real and (s.total == MOST or s.total == -MOST) then return end
    s.total = s.total - o.amount
    if p.metric ~= SUM then s.total = max(s.total, 0) end
    s.tags = without_tag(s.tags, o)
    if s.total == 0 then -- the next event begins a window
      s.live = false
      call('DEL', s.key)
      s.field = nil
      return
    end
    store_fixed(s, p)
  end,
}
