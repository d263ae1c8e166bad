local ADD, READ, LOOK, RESET, RESERVE, SETTLE, RELEASE, TAKE_BACK = 1, 2, 3, 4, 5, 6, 7, 8

-- Integers stay integers; other numbers become text that keeps every bit. nil: there is no value.
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
  if p.form.name then return p.form.name(o, p) end
  if p.metric == DISTINCT or p.metric == EXISTS then return o.id .. o.member end
  return o.id .. pack_('<d', o.amount)
end

local function hold(p, o)
  call('ZADD', p.held_key, now + o.life, reservation(o, p))
  call('ZREMRANGEBYSCORE', p.held_key, '-inf', now)
  if call('PTTL', p.held_key) < ttl(o.life) then call('PEXPIRE', p.held_key, ttl(o.life)) end
end

-- The number that a ceiling compares: that of a datum, or 0 if the datum has none.
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
    if p.held and form.near then p.held = form.near(o, p.held) end
    if i == 1 and o.retry then
      if verb == RESERVE and p.held_key then
        there = call('ZSCORE', p.held_key, reservation(o, p)) ~= false
      elseif admits or (verb == SETTLE and p.metric ~= IN_FLIGHT) then
        there = form.had(s, o, p)
      end
      judged = admits and not there
    end
  end
  local done = true
  if event or verb == READ then
    for i = 1, n do
      local p = parts[i]
      -- A counted event is part of the settled count, one in flight too. A reservation of our own is not.
      local with = event and not (there and (verb == ADD or not p.held))
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
      local p = parts[i]
      if p.form.reset then p.form.reset(p.s, o) elseif p.metric ~= IN_FLIGHT then call('DEL', p.key) end
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
    if verb == ADD or (verb == READ and p.form == forms[FORM_FIXED] and p.window == EVERY_FIRST) then
      out[at + 1] = spoken(p.s.undo or 0)
      at = at + 1
    end
  end
end

-- Reads an operation with its parts, the last of its keys, and the time that the caller gives (or -1).
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
    p.inclusive, p.real, p.remembers = bits % 2 == 1, bits % 4 >= 2, bits < 8
    key = key + 1
    p.key = KEYS[key]
    if bits % 8 >= 4 then
      key = key + 1
      p.held_key = KEYS[key]
    end
    parts[k] = p
  end
  o.datum = sub(packed, at)
  return o, parts, key, given
end

-- Runs the operations of ARGV[first] and after. Their keys follow KEYS[key]; their answers follow out[n].
local function all(first, key, n)
  for i = first, #ARGV do
    local o, parts, given
    o, parts, key, given = opened(ARGV[i], key)
    tell_time(given)
    local ok, problem = pcall(run, o, parts, out)
    if ok then
      n = #out
    else
      problem = type(problem) == 'table' and (problem.err or '?') or tostring(problem)
      for k = 1, #parts do
        give_up(parts[k].key, problem)
        give_up(parts[k].held_key, problem)
      end
      for k = #out, n + 1, -1 do out[k] = nil end
      out[n + 1] = -1
      out[n + 2] = problem
      n = n + 2
    end
  end
end
