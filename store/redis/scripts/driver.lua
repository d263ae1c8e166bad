local ADD, READ, LOOK, RESET, RESERVE, SETTLE, RELEASE, TAKE_BACK = 1, 2, 3, 4, 5, 6, 7, 8
local IN_FLIGHT = 3

-- Integers as integers, others as text that keeps every bit; nil: no value.
local function spoken(v)
  if v == nil then return false end
  if type(v) == 'string' then return v end
  if v % 1 == 0 and v <= MOST and v >= -MOST then return v end
  return string.format('%.17g', v)
end

-- Open reservations of others: their amounts or members.
local function held_by_others(key, o)
  local names = call('ZRANGEBYSCORE', key, '(' .. now, '+inf')
  local out, n = {}, 0
  for i = 1, #names do
    if sub(names[i], 1, 12) ~= o.id then
      n = n + 1
      out[n] = sub(names[i], 13)
    end
  end
  return out
end

local function flying(p, held)
  if p.metric ~= 0 then return #held end
  local n = 0
  for i = 1, #held do n = n + unpack_('<d', held[i]) end
  return n
end

local function reservation(o, p)
  if p.metric == DISTINCT or p.metric == EXISTS then return o.id .. o.member end
  return o.id .. pack_('<d', o.amount)
end

local function hold(p, o)
  call('ZADD', p.held_key, now + o.life, reservation(o, p))
  call('ZREMRANGEBYSCORE', p.held_key, '-inf', now)
  if call('PTTL', p.held_key) < ttl(o.life) then call('PEXPIRE', p.held_key, ttl(o.life)) end
end

-- What a ceiling compares: of a datum its number, 0 if it has none.
local function judged_value(v)
  if type(v) ~= 'string' then return v end
  local kind = sub(v, 1, 1)
  if kind == 'r' then return (unpack_('<d', v, 2)) end
  if kind == 'i' then return (unpack_('<i8', v, 2)) end
  return 0
end

local function run(o, parts, out)
  local verb, n = o.verb, #parts
  local admits = verb == ADD or verb == RESERVE
  local event = admits or verb == LOOK
  local judged = admits and not o.retry -- what is there already was admitted
  local there = false
  for i = 1, n do
    local p = parts[i]
    local form = p.form
    local s = form.open(o, p, p.key)
    p.s = s
    if p.held_key then p.held = held_by_others(p.held_key, o) end
    if i == 1 and o.retry then
      if verb == RESERVE and p.held_key then
        there = call('ZSCORE', p.held_key, reservation(o, p)) ~= false
      elseif admits or verb == SETTLE then
        there = form.had(s, o, p)
      end
      judged = admits and not there
    end
  end
  local done = true
  if event or verb == READ then
    for i = 1, n do
      local p = parts[i]
      -- What is counted already is in the settled count; a reservation of our own is not.
      local with = event and not (there and verb == ADD)
      p.settled = p.form.value(p.s, o, p, with)
      p.value = p.held and p.form.value(p.s, o, p, with, p.held) or p.settled
      local v = judged and judged_value(p.value)
      if v and (v > p.limit or (p.inclusive and v >= p.limit)) then
        done = false
      end
    end
  end
  if admits and done and not there then
    for i = 1, n do
      local p = parts[i]
      if verb == RESERVE and p.held_key then hold(p, o) else p.form.add(p.s, o, p, now) end
    end
  elseif verb == SETTLE then
    done = false
    for i = 1, n do
      local p = parts[i]
      if p.metric == IN_FLIGHT then
        p.form.take_back(p.s, o, p)
      elseif not there then
        done = p.form.add(p.s, o, p, o.at) or done
      end
    end
    done = done or there
  elseif verb == TAKE_BACK or verb == RELEASE then
    for i = 1, n do
      local p = parts[i]
      if verb == TAKE_BACK then o.undo = p.limit end
      if verb == TAKE_BACK or p.metric == IN_FLIGHT then p.form.take_back(p.s, o, p) end
    end
  elseif verb == RESET then
    for i = 1, n do
      if parts[i].metric ~= IN_FLIGHT then call('DEL', parts[i].key) end
    end
  end
  if verb == SETTLE or verb == RELEASE or verb == TAKE_BACK then
    for i = 1, n do
      local p = parts[i]
      if p.held_key then call('ZREM', p.held_key, reservation(o, p)) end
    end
  end
  local at = #out + 1
  out[at] = done and 1 or 0
  for i = 1, n do
    local p = parts[i]
    if not event and verb ~= READ then
      if verb == RESET then p.s = p.form.open(o, p, p.key) end
      p.settled = p.form.value(p.s, o, p, false)
      p.value = p.settled
    end
    out[at + 1] = spoken(p.value)
    at = at + 1
    if p.held then
      out[at + 1] = spoken(p.settled)
      out[at + 2] = flying(p, p.held)
      at = at + 2
    end
    if verb == ADD then
      out[at + 1] = spoken(p.s.undo or 0)
      at = at + 1
    end
  end
end

-- An operation and its parts; returns the last of its keys.
local function opened(packed, key)
  local o, parts, count, flags, given, at = {}, {}, nil, nil, nil, nil
  o.verb, count, flags, o.id, o.amount, given, o.at, o.life, o.member, at =
    unpack_('<BBBc12ddddc8', packed)
  o.retry = flags == 1
  for k = 1, count do
    local p = {}
    local form, bits
    form, bits, p.metric, p.window, p.limit, p.a, p.b, p.c, p.d, p.e, at =
      unpack_('<BBBBdddddd', packed, at)
    p.form = forms[form]
    p.inclusive, p.real = bits % 2 == 1, bits % 4 >= 2
    key = key + 1
    p.key = KEYS[key]
    if bits >= 4 then
      key = key + 1
      p.held_key = KEYS[key]
    end
    parts[k] = p
  end
  o.datum = sub(packed, at)
  return o, parts, key
end

local out, key, clock, n = {0}, 0, nil, 1
for i = 1, #ARGV do
  local packed = ARGV[i]
  -- The head and the first part; what is not used here, opened() reads again.
  local verb, count, flags, id, amount, given, _, _, _, form, bits, metric, kind, limit, a, b =
    unpack_('<BBBc12ddddc8BBBBddd', packed)
  explicit = given >= 0
  if explicit then
    now, sweep = given, true
  else
    if not clock then clock = call('TIME') end
    now = clock[1] * 1000 + floor(clock[2] / 1000)
    sweep = clock[2] % 8 == 0
  end
  out[1] = now
  local ok, value, done = true, nil, nil
  -- The event alone, added for the first time, to one window without outcomes.
  local fast = verb == ADD and count == 1 and flags == 0 and bits < 4 and forms[form].fast
  if fast then
    ok, value, done =
      pcall(fast, KEYS[key + 1], id, amount, bits % 2 == 1, bits >= 2, metric, kind, limit, a, b)
  end
  if ok and value then
    key = key + 1
    out[n + 1] = done
    out[n + 2] = spoken(value)
    out[n + 3] = 0
    n = n + 3
  else
    if ok then
      local o, parts
      o, parts, key = opened(packed, key)
      ok, value = pcall(run, o, parts, out)
    else
      key = key + 1
    end
    if ok then
      n = #out
    else
      for k = #out, n + 1, -1 do out[k] = nil end
      out[n + 1] = -1
      out[n + 2] = type(value) == 'table' and (value.err or '?') or tostring(value)
      n = n + 2
    end
  end
end
return out
