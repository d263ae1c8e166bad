-- A string that is no counter of weir's: what `include: {redis: KEY}` names.
-- KEYS  the string. Answer: its value, or nil.
return redis.call('GET', KEYS[1])
