-- Average or extreme of one window: begin, how many, sum or extreme, tags.
local function beyond(p, a, b)
  if p.metric == MINIMUM then return a < b end
  return a > b
end
local function store_tally(s)
  if s.n == 0 then
    call('DEL', s.key)
  else
    call('SET', s.key, pack_('<ddd', s.b, s.n, s.x) .. s.tags, 'PX', ttl(s.e - now))
  end
end

forms[FORM_TALLY] = {
  open = function(o, p, key)
    local s = {key = key, n = 0, x = 0, tags = NO_TAGS}
    local raw = call('GET', key)
    local began, n, x
    if raw then began, n, x = unpack_('<ddd', raw) end
    s.b, s.e, s.live = current(p, began)
    if s.live then s.n, s.x, s.tags = n, x, sub(raw, 25) end
    return s
  end,
  had = function(s, o) return s.live and tagged(s.tags, o) end,
  value = function(s, o, p, event, held)
    local n, x = s.n, s.x
    local function take(a)
      if p.metric == AVERAGE then
        x = x + a
      elseif n == 0 or beyond(p, a, x) then
        x = a
      end
      n = n + 1
    end
    if held then for i = 1, #held do take((unpack_('<d', held[i]))) end end
    if event then take(o.amount) end
    if n == 0 then return nil end
    return p.metric == AVERAGE and x / n or x
  end,
  add = function(s, o, p, at)
    if at ~= now then
      if not covers(p, s.b, s.e, at) then return false end
      if p.window == EVERY_FIRST and s.n == 0 then s.b = at; s.e = at + p.length end
    end
    s.undo = s.x
    if p.metric == AVERAGE then
      s.x = clamp(s.x + o.amount, p.real)
    elseif s.n == 0 or beyond(p, o.amount, s.x) then
      s.x = o.amount
    end
    s.n, s.live = s.n + 1, true
    s.tags = with_tag(s.tags, o)
    store_tally(s)
    return true
  end,
  take_back = function(s, o, p)
    if s.n == 0 or o.at < s.b or (o.retry and not tagged(s.tags, o)) then return end
    s.n = s.n - 1
    if p.metric == AVERAGE then
      s.x = s.x - o.amount
    elseif s.x == o.amount then
      s.x = o.undo -- exact if no event of the key came between
    end
    s.tags = without_tag(s.tags, o)
    store_tally(s)
  end,
}
