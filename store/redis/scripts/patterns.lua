-- Patterns of keys that all replicas share. The rules are those of limiter/patterns.
-- KEYS: of a sequence one, what its key has. Else two, of a shard of the pattern's keys: a hash of
-- what each key has (and as '' when it was last asked what is due, and until when nothing is), and
-- the keys in a sorted set by when something is due. ARGV: one packed string an operation
-- (pattern_codec.cc writes it). Answer: the store's time, then for each operation a flag (1 done, -1
-- and an error's text) and a packed string.
local call, floor, max, min = redis.call, math.floor, math.max, math.min
local sub, unpack_, pack_ = string.sub, struct.unpack, struct.pack
local insert, remove, concat = table.insert, table.remove, table.concat
local ADD, LOOK, DUE, DONE = 1, 3, 9, 10
local SEQUENCE, ABSENCE, PAIR = 0, 1, 2
local MATCHED, TIMEOUT, UNMATCHED = 0, 1, 2
local VERSION, NEVER = 1, -1
local KEYS_OF_DUE = 8 -- looked at by one operation; those of all shards may share a call
-- If nobody has asked for so long, there was an outage. Then events that the replicas have kept come first.
local QUIET, RECOVERY = 3000, 5000
-- An event that happened a moment ago counts as happening now. The network decides which of two replicas was
-- first, so events of one key lie here in the order of their times.
local MOMENT = 100
local REMEMBERED = 10000 -- so long events of a key that waits for nothing can be sent again
-- The last events of a key, and how many matches each completed. An event that is sent again finds itself.
local TAGS, TAG_BYTES = 4, 10
local NO_TAGS = string.rep('\0', TAGS * TAG_BYTES)
local kinds, now, explicit = {}, nil, false

local function bit(set, k) return floor(set / 2 ^ k) % 2 == 1 end

-- The time of an event. The caller gives a time of this clock, or an age (0 or less).
local function time_of(o)
  if explicit then return o.at end
  local age = o.at > 0 and now - o.at or -o.at
  return age < MOMENT and now or now - age
end

local function tag_of(o) return sub(o.id, 5, 6) .. sub(o.id, 9, 12) end
local function told(tags, o)
  local tag = tag_of(o)
  for i = 0, TAGS - 1 do
    local at = i * TAG_BYTES
    if sub(tags, at + 1, at + 6) == tag then return (unpack_('<I4', tags, at + 7)) end
  end
  return nil
end
local function with_tag(tags, o, matched)
  return tag_of(o) .. pack_('<I4', matched) .. sub(tags, 1, (TAGS - 1) * TAG_BYTES)
end

local function match(out, kind, fires, order, events, payload)
  out[#out + 1] = {kind = kind, fires = fires, order = order, events = events, payload = payload or ''}
end
-- Counts the matches that an event completes. Only replay asks for their steps.
local function complete(out, fires, order, events)
  out.matched = out.matched + 1
  if explicit then match(out, MATCHED, fires, order, events) end
end

-- The state of a key is packed by cmsgpack, which is written in C: Lua would need milliseconds for a large one.
-- Open matches, in the order in which they began: {steps, order, ts, line, ts, line, ...}.
kinds[SEQUENCE] = {
  read = function(s, o)
    if not s then return {} end
    if not o.forgets then return s end
    local kept, first = {}, now - 1 - o.late - o.within
    for i = 1, #s do
      if s[i][3] >= first then kept[#kept + 1] = s[i] end
    end
    return kept
  end,
  is_empty = function(s) return #s == 0 end,
  open = function(s)
    local furthest = 0
    for i = 1, #s do furthest = max(furthest, s[i][1]) end
    return #s, furthest
  end,
  feed = function(s, o, out)
    local kept, completed, last = {}, false, o.steps - 1
    for i = 1, #s do
      local m, stays = s[i], true
      local done = m[1]
      if bit(o.parts, done) and o.ts >= m[2 * done + 1] then
        if o.ts - m[3] > o.within then
          stays = false
        elseif done == last then
          stays, completed = false, true
          local events = {}
          for k = 1, explicit and done or 0 do events[k] = {k - 1, m[2 * k + 1], m[2 * k + 2]} end
          events[#events + 1] = {done, o.ts, o.line}
          complete(out, o.ts, m[2], events)
          if not o.overlap then
            kept = {}
            break
          end
        else
          m[1] = done + 1
          m[2 * done + 3], m[2 * done + 4] = o.ts, o.line
        end
      elseif o.strict and o.among then
        stays = false
      end
      if stays then kept[#kept + 1] = m end
    end
    local dropped = 0
    if bit(o.parts, 0) and (o.overlap or not completed) then
      if #kept >= o.keep then
        local useful = {}
        for i = 1, #kept do
          if kept[i][3] >= o.ts - o.within then useful[#useful + 1] = kept[i] end
        end
        if #useful == #kept then
          remove(useful, 1)
          dropped = 1
        end
        kept = useful
      end
      kept[#kept + 1] = {1, o.order, o.ts, o.line}
    end
    return kept, dropped
  end,
}

-- Events that wait, in the order of time, then of arrival. LENT: until when a replica acts on the deadline; 0: no
-- replica has taken it. The end names the lease: each replica says which deadlines it has seen to, and no others.
local TS, LINE, ORDER, LENT, PAYLOAD = 1, 2, 3, 4, 5
local function wait(list, o)
  local dropped = 0
  if #list >= o.keep then
    remove(list, 1)
    dropped = 1
  end
  local at = #list + 1
  while at > 1 and list[at - 1][TS] > o.ts do at = at - 1 end
  insert(list, at, {o.ts, o.line, o.order, 0, o.payload})
  return dropped
end
-- The events whose deadline has passed. They are lent to the caller, or removed if it gives no lifetime.
local function expire(list, o, length, kind, step, watermark, out)
  local kept = {}
  for i = 1, #list do
    local e = list[i]
    local fires = e[TS] + length
    if fires <= watermark and e[LENT] <= now then
      match(out, kind, fires, e[ORDER], {{step, e[TS], e[LINE]}}, e[PAYLOAD])
      e[LENT] = now + o.life
    end
    if fires > watermark or o.life > 0 then kept[#kept + 1] = e end
  end
  return kept
end
local function seen_to(list, lease)
  local kept = {}
  for i = 1, #list do
    if list[i][LENT] ~= lease then kept[#kept + 1] = list[i] end
  end
  return kept
end
local function is_lent(list, lease)
  for i = 1, #list do
    if list[i][LENT] == lease then return true end
  end
  return false
end
-- The earliest deadline of the list on which no replica is acting. A lent one becomes due again by itself.
local function earliest(list, length, due)
  for i = 1, #list do
    local e = list[i]
    local at = max(e[LENT], e[TS] + length)
    if not due or at < due then due = at end
    if e[LENT] == 0 then break end
  end
  return due
end

-- [1]: the a's that wait for their time, [2]: the times of the b's of late.
kinds[ABSENCE] = {
  read = function(s) return s or {{}, {}} end,
  is_empty = function(s) return #s[1] == 0 and #s[2] == 0 end,
  open = function(s) return #s[1], #s[1] > 0 and 1 or 0 end,
  feed = function(s, o)
    local waits, answers, answered = bit(o.parts, 0), bit(o.parts, 1), false
    local times = s[2]
    if waits then
      for i = 1, #times do
        local t = times[i]
        if t > o.ts or (t == o.ts and o.tied) then -- untied: the earlier in arrival answers nothing
          answered = t - o.ts <= o.within
          break
        end
      end
    end
    if answers then
      local kept = {}
      for i = 1, #s[1] do
        local e = s[1][i]
        if e[TS] < o.ts - o.within or e[TS] > o.ts then kept[#kept + 1] = e end
      end
      s[1] = kept
      if #times >= o.keep then remove(times, 1) end
      local at = #times + 1
      while at > 1 and times[at - 1] > o.ts do at = at - 1 end
      insert(times, at, o.ts)
    end
    if waits and not answered then return s, wait(s[1], o) end
    return s, 0
  end,
  due = function(s, o)
    local due, answer = earliest(s[1], o.within), s[2][1]
    if o.forgets and answer and (not due or answer + o.late < due) then due = answer + o.late end
    return due
  end,
  expire = function(s, o, watermark, out)
    s[1] = expire(s[1], o, o.within, TIMEOUT, 0, watermark, out)
    while o.forgets and s[2][1] and s[2][1] <= watermark - o.late do remove(s[2], 1) end
  end,
  seen_to = function(s, lease) s[1] = seen_to(s[1], lease) end,
}

-- The events of each side without a partner. [1] waits for `after`, [2] for `before`.
local function length_of(o, side) return side == 1 and o.after or o.before end
kinds[PAIR] = {
  read = function(s) return s or {{}, {}} end,
  is_empty = function(s) return #s[1] == 0 and #s[2] == 0 end,
  open = function(s)
    local n = #s[1] + #s[2]
    return n, n > 0 and 1 or 0
  end,
  feed = function(s, o, out)
    for side = 2, 1, -1 do
      if bit(o.parts, side - 1) then
        local others = s[3 - side]
        local first = o.ts - length_of(o, 3 - side)
        local last = o.ts + length_of(o, side)
        for i = 1, #others do
          local e = others[i]
          if e[LENT] == 0 and e[TS] >= first and e[TS] <= last then
            local own = {side - 1, o.ts, o.line}
            local other = {2 - side, e[TS], e[LINE]}
            complete(out, max(o.ts, e[TS]), e[ORDER], side == 1 and {own, other} or {other, own})
            remove(others, i)
            return s, 0
          end
        end
      end
    end
    if o.parts % 4 == 0 then return s, 0 end
    return s, wait(s[bit(o.parts, 0) and 1 or 2], o)
  end,
  due = function(s, o)
    return earliest(s[2], o.before, earliest(s[1], o.after))
  end,
  expire = function(s, o, watermark, out)
    for side = 1, 2 do
      s[side] = expire(s[side], o, length_of(o, side), UNMATCHED, side - 1, watermark, out)
    end
  end,
  seen_to = function(s, lease)
    for side = 1, 2 do s[side] = seen_to(s[side], lease) end
  end,
}

local function opened(packed)
  local o, flags, given, at = {}, nil, nil, nil
  o.verb, o.retry, o.id, given, o.at, o.life, o.kind, o.steps, flags, o.within, o.before, o.after,
    o.keep, o.late, o.parts, o.line, o.length, at = unpack_('<BBc12dddBBBdddddBdI4', packed)
  explicit = given >= 0
  if explicit then now = given end
  o.strict, o.overlap, o.forgets, o.among = bit(flags, 0), bit(flags, 1), bit(flags, 2), bit(flags, 3)
  o.tied = bit(flags, 4)
  o.order = unpack_('>I6', o.id, 7)
  o.name = sub(packed, at, at + o.length - 1)
  o.payload = sub(packed, at + o.length)
  o.ttl = floor(max(o.within, o.before, o.after) + min(o.late, 3600000)) + 60000
  if explicit then o.ttl = o.ttl + 3600000 end
  return o
end

local function store(o, kind, s, tags, key, timers)
  local empty = kind.is_empty(s)
  if o.kind == SEQUENCE then
    -- Nothing is open. The events are remembered in case one is sent again.
    call('SET', key, pack_('<B', VERSION) .. tags .. cmsgpack.pack(s), 'PX', empty and REMEMBERED or o.ttl)
    return nil
  end
  local due = kind.due(s, o)
  if empty then
    if explicit or o.verb ~= ADD then
      call('HDEL', key, o.name)
      call('ZREM', timers, o.name)
      return nil
    end
    due = now + REMEMBERED
  end
  -- The 0 is for replicas of earlier versions, which read one end of all leases there.
  call('HSET', key, o.name, pack_('<B', VERSION) .. tags .. cmsgpack.pack({s[1], s[2], 0}))
  if due then
    call('ZADD', timers, string.format('%.0f', due), o.name)
  else  -- what is left waits for nothing
    call('ZREM', timers, o.name)
  end
  -- A new hash has new timers, so one question is enough.
  if call('PTTL', timers) < o.ttl then
    call('PEXPIRE', timers, o.ttl + 60000)
    call('PEXPIRE', key, o.ttl + 60000)
  end
  return due
end

local function load(o, kind, key)
  local text
  if o.kind == SEQUENCE then text = call('GET', key) else text = call('HGET', key, o.name) end
  if not text or text:byte(1) ~= VERSION then return kind.read(nil, o), NO_TAGS, false end
  local s = cmsgpack.unpack(sub(text, 2 + #NO_TAGS))
  return kind.read(s, o), sub(text, 2, 1 + #NO_TAGS), true
end

local function answer(o, r)
  local out = {pack_('<BBI4I4I4I4ddI4', r.completes and 1 or 0, r.furthest or 0, r.open or 0, r.matched or 0,
                     r.dropped or 0, r.keys or 0, r.next or NEVER, r.asked or 0, #r)}
  for i = 1, #r do
    local m = r[i]
    out[#out + 1] = pack_('<BddB', m.kind, m.fires, m.order, #m.events)
    for k = 1, #m.events do
      out[#out + 1] = pack_('<Bdd', m.events[k][1], m.events[k][2], m.events[k][3])
    end
    out[#out + 1] = pack_('<I4', #(m.name or '')) .. (m.name or '')
    out[#out + 1] = pack_('<I4', #m.payload) .. m.payload
  end
  return concat(out)
end

local function happened(o, key, timers)
  local kind, r = kinds[o.kind], {matched = 0}
  o.ts = time_of(o)
  local s, tags, there = load(o, kind, key)
  r.open, r.furthest = kind.open(s)
  local before = o.verb == ADD and o.retry == 1 and told(tags, o)
  if before then
    r.matched = before
    return r
  end
  if not there and o.parts == 0 then return r end -- nothing that it could end
  s, r.dropped = kind.feed(s, o, r)
  r.completes = r.matched > 0
  if o.verb == ADD and (there or kind.open(s) > 0 or o.kind == ABSENCE) then
    r.next = store(o, kind, s, with_tag(tags, o, r.matched), key, timers)
  end
  return r
end

local function due(o, key, timers)
  local kind, r = kinds[o.kind], {}
  local watermark = time_of(o)
  if not explicit then
    local before, hold = 0, 0
    local known = call('HGET', key, '')
    if known and #known == 16 then before, hold = unpack_('<dd', known) end
    r.asked = max(0, now - before)
    if r.asked > QUIET then hold = now + RECOVERY end
    call('HSET', key, '', pack_('<dd', now, hold))
    if call('PTTL', key) < 60000 then call('PEXPIRE', key, 60000) end
    if now < hold then
      r.next = hold
      return r
    end
  end
  local text = string.format('%.0f', watermark)
  local names = call('ZRANGEBYSCORE', timers, '-inf', text, 'LIMIT', 0, KEYS_OF_DUE)
  r.keys = #names
  for i = 1, #names do
    o.name = names[i]
    local s, tags, there = load(o, kind, key)
    local first = #r
    if there then
      -- Another replica asked in the same millisecond: its lease has the same name.
      local taken = o.life > 0 and (is_lent(s[1], now + o.life) or o.kind == PAIR and is_lent(s[2], now + o.life))
      if not taken then kind.expire(s, o, watermark, r) end
      store(o, kind, s, tags, key, timers)
    else
      call('ZREM', timers, o.name)
    end
    for k = first + 1, #r do r[k].name = o.name end
  end
  local next = call('ZRANGE', timers, 0, 0, 'WITHSCORES')
  r.next = tonumber(next[2] or NEVER)
  return r
end

local function done(o, key, timers)
  local kind = kinds[o.kind]
  local s, tags, there = load(o, kind, key)
  if there then
    kind.seen_to(s, o.at)
    store(o, kind, s, tags, key, timers)
  end
  return {}
end

local verbs = {[ADD] = happened, [LOOK] = happened, [DUE] = due, [DONE] = done}
local out, at, clock = {0}, 0, nil
for i = 1, #ARGV do
  if not clock then clock = call('TIME') end
  now = clock[1] * 1000 + floor(clock[2] / 1000)
  local o = opened(ARGV[i])
  local key, timers = KEYS[at + 1], KEYS[at + 2]
  at = at + (o.kind == SEQUENCE and 1 or 2)
  out[1] = now
  local ok, value = pcall(verbs[o.verb], o, key, timers)
  if ok then
    out[#out + 1] = 1
    out[#out + 1] = answer(o, value)
  else
    value = type(value) == 'table' and (value.err or '?') or tostring(value)
    give_up(key, value)
    give_up(timers, value)
    out[#out + 1] = -1
    out[#out + 1] = value
  end
end
return out
