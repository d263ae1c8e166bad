-- A total of one window as decimal text. The key says which window it is. envoyproxy/ratelimit writes the
-- same (INCRBY, then EXPIRE by the whole unit), so both count together. The caller chooses the window. The
-- key expires when its window is over, and no event is remembered: an undo that may have been done already is not done.
forms[FORM_DECIMAL] = {
  open = function(o, p, key)
    local raw = call('GET', key)
    return {key = key, there = raw, total = tonumber(raw) or 0}
  end,
  had = function() return false end,
  value = function(s, o, p, event) return clamp(s.total + (event and o.amount or 0), false) end,
  add = function(s, o, p)
    s.total = call('INCRBY', s.key, string.format('%.0f', o.amount))
    call('EXPIRE', s.key, string.format('%.0f', p.length / 1000))
    return true
  end,
  take_back = function(s, o)
    if o.retry or not s.there or s.total < o.amount then return end -- done perhaps; the window is over
    s.total = call('DECRBY', s.key, string.format('%.0f', o.amount))
  end,
}
