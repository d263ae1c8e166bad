-- A total and when its window began: begin, total, tags.
forms[0] = {
  -- Adding one event for the first time, which is what nearly all operations are: the same as open,
  -- value and add, without their tables. Returns the value and whether it was added.
  fast = function(key, id, amount, inclusive, real, metric, kind, limit, a)
    if kind == CALENDAR then return nil end
    local raw = call('GET', key)
    local b = kind == EVERY and now - now % a or now
    local total, tags, live = 0, NO_TAGS, false
    if raw then
      local began, sum = unpack_('<dd', raw)
      if began - now > AHEAD then
        live = false
      elseif kind == FIRST then
        live = now - began < a
      else
        live = began >= b
      end
      if live then b, total, tags = began, sum, sub(raw, 17) end
    end
    total = clamp(total + amount, real)
    if total > limit or (inclusive and total >= limit) then return total, 0 end
    local packed = pack_('<dd', b, total) .. sub(id, 5, 6) .. sub(id, 9, 12) ..
      sub(tags, 1, (TAGS - 1) * TAG_BYTES)
    if live then
      call('SET', key, packed, 'KEEPTTL') -- it ends with the window
    else
      call('SET', key, packed, 'PX', ttl(b + a - now))
    end
    return total, 1
  end,
  open = function(o, p, key)
    local raw = call('GET', key)
    local s = {key = key, total = 0, tags = NO_TAGS}
    local began, total
    if raw then began, total = unpack_('<dd', raw) end
    s.b, s.e, s.live = current(p, began)
    if s.live then s.total = total; s.tags = sub(raw, 17) end
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
      if p.window == FIRST and not s.live then s.b = at; s.e = at + p.a end
    end
    s.total = clamp(s.total + o.amount, p.real)
    s.tags = with_tag(s.tags, o)
    s.live = true
    call('SET', s.key, pack_('<dd', s.b, s.total) .. s.tags, 'PX', ttl(s.e - now))
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
      return
    end
    call('SET', s.key, pack_('<dd', s.b, s.total) .. s.tags, 'PX', ttl(s.e - now))
  end,
}
