-- How many requests each replica has open. A replica has one member: its id and the number. A new number
-- replaces the old one. The score is the time when the number expires, because the replica may have died.
forms[FORM_GAUGES] = {
  open = function(o, p, key)
    local names = call('ZRANGEBYSCORE', key, '(' .. now, '+inf')
    local s = {key = key, others = 0, ours = 0}
    for i = 1, #names do
      local n = unpack_('<d', names[i], 13)
      if sub(names[i], 1, 12) == o.id then
        s.name, s.ours = names[i], n
      else
        s.others = s.others + n
      end
    end
    return s
  end,
  had = function() return false end, -- what is there may be an older number
  value = function(s, o, p, event) return s.others + (event and o.amount or s.ours) end,
  add = function(s, o)
    local name = o.id .. pack_('<d', o.amount)
    call('ZADD', s.key, now + o.life, name)
    if s.name and s.name ~= name then call('ZREM', s.key, s.name) end
    call('ZREMRANGEBYSCORE', s.key, '-inf', now)
    s.name, s.ours = name, o.amount
    if call('PTTL', s.key) < ttl(o.life) then call('PEXPIRE', s.key, ttl(o.life)) end
    return true
  end,
  take_back = function(s, o)
    if s.name then call('ZREM', s.key, s.name) end
    s.name, s.ours = nil, 0
  end,
}
