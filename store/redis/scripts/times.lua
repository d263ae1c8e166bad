-- Counts of a log whose events are not remembered: their times, oldest first, six bytes each, in one
-- string. What a clock that was ahead has written counts until its time leaves the window; more than a
-- minute ahead, until it is the oldest that there is.
--
-- Its time to live ends two windows after it was last set, so that not every event has to set it
-- (log_plain.lua). It is set by a key's first event; by one after which there are eight; up to eight,
-- by one that is the first in its multiple of the window; beyond, when the oldest are cut
-- off. So it stays for a window after each event: beyond eight, an event later than a window after it
-- was set finds that the oldest eight have left, cuts them off, and sets it.
local STAMP = 6

local function time_at(times, i) return (unpack_('<I6', times, i * STAMP + 1)) end
local function count_of(times) return #times / STAMP end

-- How many are not later.
local function up_to(times, time)
  local from, to = 0, count_of(times)
  while from < to do
    local mid = floor((from + to) / 2)
    if time_at(times, mid) <= time then from = mid + 1 else to = mid end
  end
  return from
end

local function store_times(s, p, times)
  s.times = times
  if times == '' then
    call('DEL', s.key)
  else
    call('SET', s.key, times, 'PX', ttl(2 * p.length))
  end
end

forms[FORM_TIMES] = {
  open = function(o, p, key)
    local times = call('GET', key) or ''
    if #times % STAMP ~= 0 then error('no times') end
    local gone, ahead = up_to(times, now - p.length), up_to(times, now + AHEAD)
    return {key = key, times = sub(times, gone * STAMP + 1, ahead * STAMP)}
  end,
  had = function() return false end,
  value = function(s, o, p, event) return min(count_of(s.times) + (event and o.amount or 0), p.keep) end,
  add = function(s, o, p)
    local n = count_of(s.times)
    local at = pack_('<I6', n > 0 and max(now, time_at(s.times, n - 1)) or now)
    local times = s.times .. rep(at, min(o.amount, p.keep))
    store_times(s, p, sub(times, -STAMP * (p.keep + SLACK)))
    return true
  end,
  take_back = function(s, o, p)
    if o.retry then return end
    local last = up_to(s.times, o.at)
    local first = max(up_to(s.times, o.at - 1), last - min(o.amount, p.keep))
    if first == last then return end
    store_times(s, p, sub(s.times, 1, first * STAMP) .. sub(s.times, last * STAMP + 1))
  end,
}
