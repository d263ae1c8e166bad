-- Counts of log.lua, of one event each. In a long log what has left is counted, not what is there:
-- Redis goes through a small sorted set entry by entry.
--: locals
  tags = {unpack_(string.rep('c12', n), packed, at + n)}
  local since, low, below, high, above, lasts
--: terms
      low = string.format('%.0f', math.max(now - a + 1, 1))
      high = string.format('%.0f', now + 60000)
      since, lasts = string.format('%.0f', math.max(now, 1)), string.format('%.0f', a + slack)
      below, above = '(' .. low, '(' .. high
--: operation
      local there = call('ZCARD', key)
      if there > 16 then
        there = there - call('ZCOUNT', key, '-inf', below) - call('ZCOUNT', key, above, '+inf')
      elseif there > 0 then
        there = call('ZCOUNT', key, low, high)
      end
      there = there + 1
      value = math.min(there, b)
      if value > most then break end
      call('ZADD', key, since, tags[i])
      if sweep or there > b + 32 then -- SLACK
        call('ZREMRANGEBYSCORE', key, '-inf', below)
        if there > b + 32 then call('ZREMRANGEBYRANK', key, 0, there - b - 33) end
      end
      call('PEXPIRE', key, lasts)
