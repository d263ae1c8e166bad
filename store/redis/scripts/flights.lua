-- Events that have begun and not ended. The score is the time when each ends by itself, because its replica
-- may have died.
local function names(o)
  local out = {o.id}
  for i = 2, o.amount do out[i] = o.id .. pack_('>I4', i) end
  return out
end

forms[FORM_FLIGHTS] = {
  open = function(o, p, key)
    return {key = key, n = call('ZCOUNT', key, '(' .. now, '+inf')}
  end,
  had = function(s, o) return call('ZSCORE', s.key, o.id) ~= false end,
  value = function(s, o, p, event)
    s.flying = s.n
    return s.n + (event and o.amount or 0)
  end,
  add = function(s, o)
    for _, name in ipairs(names(o)) do call('ZADD', s.key, now + o.life, name) end
    call('ZREMRANGEBYSCORE', s.key, '-inf', now)
    s.n = s.n + o.amount
    if call('PTTL', s.key) < ttl(o.life) then call('PEXPIRE', s.key, ttl(o.life)) end
    return true
  end,
  take_back = function(s, o)
    for _, name in ipairs(names(o)) do s.n = s.n - call('ZREM', s.key, name) end
  end,
}
