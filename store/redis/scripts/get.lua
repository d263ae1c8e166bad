-- Reads the string that `include: {redis: KEY}` names. It is not a counter of weir.
-- KEYS  the string. Answer: its value, or nil.
return redis.call('GET', KEYS[1])
