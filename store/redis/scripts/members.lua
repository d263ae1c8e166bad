-- Different members in a sorted set, by when they were last seen (first, where windows are aligned).
-- B: when the window began that the key's first event opens. exists: the score of a member that was
-- new has a hash of its event's id behind the decimal point. By that an event that is sent again knows that the
-- member is its own, and not of an earlier event.
local function fraction(o)
  local a, b = string.byte(o.id, 11, 12)
  return (1 + (a * 256 + b) % 4095) / 4096
end

local function settled_member(s, member)
  if s.dead then return nil end
  local score = call('ZSCORE', s.key, member)
  score = score and tonumber(score)
  if score and score >= s.lo and score <= s.hi then return score end
  return nil
end

forms[FORM_MEMBERS] = {
  open = function(o, p, key)
    local s = {key = key, hi = now + AHEAD, dead = false, e = now + p.length}
    if p.window == EVERY_FIRST then
      local began = call('ZSCORE', key, 'B')
      local live
      s.b, s.e, live = current(p, began and tonumber(began))
      s.dead, s.had_window = not live, began
      s.lo = s.b
    elseif p.window == LOG then
      s.lo = max(now - p.length + 1, 1)
    else
      s.b, s.e = window(p)
      s.lo = s.b
    end
    return s
  end,
  had = function() return false end, -- adding a member again changes nothing
  value = function(s, o, p, event, held)
    local score
    if event or p.metric == EXISTS then score = event and settled_member(s, o.member) end
    s.former = score
    if p.metric == EXISTS then
      if not event then return 0 end
      if score and not (o.retry and score % 1 == fraction(o)) then return 1 end
      if held then for i = 1, #held do if held[i] == o.member then return 1 end end end
      return 0
    end
    if not s.n then
      s.n = s.dead and 0 or call('ZCOUNT', s.key, s.lo, s.hi)
      if p.window == EVERY_FIRST and not s.dead then s.n = s.n - 1 end
    end
    local fresh = event and not score
    local v = min(s.n + (fresh and 1 or 0), p.keep)
    if held then
      local seen = {}
      if event then seen[o.member] = true end
      for i = 1, #held do
        local m = held[i]
        if not seen[m] and not settled_member(s, m) then v = v + 1 end
        seen[m] = true
      end
    end
    return v
  end,
  add = function(s, o, p, at)
    at = max(at, 1)
    if p.window == LOG then
      if now - at >= p.length then return false end
    elseif not covers(p, s.b, s.e, at) then
      return false
    end
    local score = settled_member(s, o.member)
    s.undo = score or 0
    if score and (p.window ~= LOG or floor(score) >= at) then return true end
    local aligned = p.window ~= LOG
    if not s.n then
      s.n = s.dead and 0 or call('ZCOUNT', s.key, s.lo, s.hi)
      if p.window == EVERY_FIRST and not s.dead then s.n = s.n - 1 end
    end
    -- An aligned window keeps its first members. A window of the last W drops the oldest one.
    if not score and aligned and s.n >= p.keep + SLACK then return true end
    local stamp = at
    if p.metric == EXISTS and not score then stamp = at + fraction(o) end
    if p.window == EVERY_FIRST then
      if s.dead then
        s.b, s.lo, s.e, s.dead = at, at, at + p.length, false
        if s.had_window then call('DEL', s.key) end -- frees more than what follows takes
        call('ZADD', s.key, at, 'B', stamp, o.member)
      else
        call('ZADD', s.key, max(stamp, s.b), o.member)
      end
    else
      call('ZADD', s.key, stamp, o.member)
      call('ZREMRANGEBYSCORE', s.key, '-inf', '(' .. s.lo)
      call('ZREMRANGEBYSCORE', s.key, '(' .. s.hi, '+inf')
    end
    if not score then
      s.n = s.n + 1
      if not aligned and s.n > p.keep + SLACK then
        call('ZREMRANGEBYRANK', s.key, 0, s.n - p.keep - SLACK - 1)
        s.n = p.keep + SLACK
      end
    end
    call('PEXPIRE', s.key, ttl(s.e - now))
    return true
  end,
  take_back = function(s, o, p)
    local score = settled_member(s, o.member)
    if not score or floor(score) ~= o.at then return end -- renewed by another since
    if o.undo == 0 then
      call('ZREM', s.key, o.member)
      s.n = nil
      if p.window == EVERY_FIRST then -- the window is as old as its oldest member
        local low = call('ZRANGE', s.key, 0, 1, 'WITHSCORES')
        if #low <= 2 then
          call('DEL', s.key)
          s.dead = true
        else
          call('ZADD', s.key, floor(tonumber(low[1] == 'B' and low[4] or low[2])), 'B')
        end
      end
    elseif o.undo ~= score then
      call('ZADD', s.key, o.undo, o.member)
    end
  end,
}
