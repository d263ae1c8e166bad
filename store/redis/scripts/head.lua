-- What the forms of all counters use. scripts.cc writes the numbers of metrics (COUNT), windows (LOG)
-- and forms (FORM_LOG) above. `out`: the call's answer; `clock`: the store's time in
-- milliseconds, if it has been asked for already.
local call, floor, max, min = redis.call, math.floor, math.max, math.min
local sub, rep, unpack_, pack_ = string.sub, string.rep, struct.unpack, struct.pack
local MOST, AHEAD, FOREVER = 9007199254740992, 60000, 2678400000
local SLACK = 32 -- entries kept beyond `keep`, so that taking one back uncovers what it displaced
local now, explicit

-- The time of an operation: what the caller gives, or the store's, which is asked once a call.
local function tell_time(given)
  explicit = given >= 0
  if explicit then
    now = given
  else
    if not clock then
      local time = call('TIME')
      clock = time[1] * 1000 + floor(time[2] / 1000)
    end
    now = clock
  end
  out[1] = now
end

local function ttl(ms)
  return floor(max(ms, 1)) + 1000 + (explicit and 3600000 or 0)
end
