-- What the replicas of one fleet tell each other beside counters and lists, in one call a second: that
-- they are there and what they run; what operators have set for all; what operators have done.
--
-- KEYS  replicas (hash): name -> when it was heard (double, ms), what it says of itself;
--       items (hash): name -> sequence, stamp, until (doubles; until in ms, 0: it stays), value; besides
--       '.e' the epoch, '.s' the last sequence;
--       versions (sorted set): hash of a configuration, by when the fleet came to it (ms);
--       news (sorted set): texts, by sequence.
-- ARGV  1 the caller's name, 2 what it says ('': it leaves), 3 the hash of its configuration, 4 'r': which
--       came by a reload just now; 5 the epoch that it knows, 6 the sequence of items and 7 of news that
--       it knows ('': from now on), 8 an epoch if there is none yet, 9 '1': it asks for the replicas,
--       10 how many items it tells; of each name, value, how long it lasts (ms, '': it stays), stamp
--       ('': a new one), base ('': any; else the stamp of what it takes the place of, 0: of nothing;
--       where there is nothing, any will do: Redis has lost it).
--       Then news.
-- Answer: now (ms), epoch, sequence of items and of news known from now on, 1 if there are more;
--       how many replicas (-1: not asked for), of each name, silent for (ms), what it says;
--       how many versions, of each hash, when; how many items, of each name, stamp, until, value;
--       of each item told its stamp (0: refused, -1: no room); then news.
--
-- A stamp says when an item was told first, so that what a replica tells again after Redis has lost its
-- memory never wins over what is newer. Sequences are microseconds where possible, as in list.lua.
local call, floor, max = redis.call, math.floor, math.max
local pack_, unpack_, sub, format = struct.pack, struct.unpack, string.sub, string.format
local DAY, MOST_ITEMS, MOST_REPLICAS, MOST_NEWS, MOST_VERSIONS = 86400000, 1000, 256, 1000, 64
local PAGE, PAGE_BYTES, FORGOTTEN = 64, 524288, 60000
local replicas, items, versions, news = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local clock = call('TIME')
local now = clock[1] * 1000 + floor(clock[2] / 1000)
local micros = clock[1] * 1000000 + clock[2]
local function whole(n) return format('%.0f', n) end

if ARGV[2] == '' then
  call('HDEL', replicas, ARGV[1])
elseif call('HEXISTS', replicas, ARGV[1]) == 1 or call('HLEN', replicas) < MOST_REPLICAS then
  call('HSET', replicas, ARGV[1], pack_('>d', now) .. ARGV[2])
  call('PEXPIRE', replicas, DAY)
end
if ARGV[3] ~= '' and ARGV[2] ~= '' then
  if ARGV[4] == 'r' then
    call('ZADD', versions, now, ARGV[3])
  else
    call('ZADD', versions, 'NX', now, ARGV[3])
  end
  call('ZREMRANGEBYRANK', versions, 0, -MOST_VERSIONS - 1)
  call('PEXPIRE', versions, 32 * DAY)
end

local head = call('HMGET', items, '.e', '.s')
local epoch, last = head[1], tonumber(head[2] or '0')
if not epoch then
  epoch, last = ARGV[8], micros
  call('HSET', items, '.e', epoch, '.s', whole(last))
end
local function advance()
  last = max(last + 1, micros)
  call('HSET', items, '.s', whole(last))
  return last
end

local told = {}
local at = 11
for i = 1, tonumber(ARGV[10]) do
  local name, value, lasts, stamp, base = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  at = at + 5
  local there = call('HGET', items, name)
  local _, held = 0, 0
  if there then _, held = unpack_('>dd', there) end
  if not there and call('HLEN', items) >= MOST_ITEMS + 2 then
    told[i] = '-1'
  elseif base ~= '' and there and tonumber(base) ~= held then
    told[i] = '0'
  elseif stamp ~= '' and tonumber(stamp) <= held then
    told[i] = whole(held)
  else
    local sequence = advance()
    local mark = stamp == '' and sequence or tonumber(stamp)
    local ends = lasts == '' and 0 or now + tonumber(lasts)
    call('HSET', items, name, pack_('>ddd', sequence, mark, ends) .. value)
    told[i] = whole(mark)
  end
end
for i = at, #ARGV do call('ZADD', news, advance(), ARGV[i]) end
if #ARGV >= at then
  call('ZREMRANGEBYRANK', news, 0, -MOST_NEWS - 1)
  call('PEXPIRE', news, DAY)
end
if call('PTTL', items) < 31 * DAY then call('PEXPIRE', items, 32 * DAY) end

local out = {whole(now), epoch, '0', '0', '0', '-1'}
if ARGV[9] == '1' then
  local count = 0
  local all = call('HGETALL', replicas)
  for i = 1, #all, 2 do
    local silent = now - unpack_('>d', all[i + 1])
    if silent > FORGOTTEN then
      call('HDEL', replicas, all[i])
    else
      count = count + 1
      out[#out + 1], out[#out + 2], out[#out + 3] = all[i], whole(max(silent, 0)), sub(all[i + 1], 9)
    end
  end
  out[6] = whole(count)
end
local seen = ARGV[9] == '1' and call('ZRANGE', versions, 0, -1, 'WITHSCORES') or {}
out[#out + 1] = whole(#seen / 2)
for i = 1, #seen do out[#out + 1] = seen[i] end

local known = epoch == ARGV[5] and tonumber(ARGV[6]) or 0
local page = {}
local reached = last
if last > known then
  local all = call('HGETALL', items)
  for i = 1, #all, 2 do
    if sub(all[i], 1, 1) ~= '.' then
      local sequence, stamp, ends = unpack_('>ddd', all[i + 1])
      if ends ~= 0 and ends <= now then
        call('HDEL', items, all[i])
      elseif sequence > known then
        page[#page + 1] = {sequence, all[i], stamp, ends, sub(all[i + 1], 25)}
      end
    end
  end
  table.sort(page, function(a, b) return a[1] < b[1] end)
end
local count, size = 0, 0
local place = #out + 1
out[place] = '0'
for _, item in ipairs(page) do
  size = size + #item[5]
  if count > 0 and (count == PAGE or size > PAGE_BYTES) then
    out[5] = '1'
    break
  end
  count, reached = count + 1, item[1]
  out[#out + 1], out[#out + 2], out[#out + 3], out[#out + 4] = item[2], whole(item[3]), whole(item[4]), item[5]
end
out[place] = whole(count)
out[3] = whole(out[5] == '1' and reached or last)
for i = 1, #told do out[#out + 1] = told[i] end

if ARGV[7] == '' then
  out[4] = whole(last)
else
  local fresh = call('ZRANGEBYSCORE', news, '(' .. ARGV[7], '+inf', 'WITHSCORES', 'LIMIT', 0, PAGE)
  out[4] = whole(last)
  for i = 1, #fresh, 2 do
    out[#out + 1] = fresh[i]
    if #fresh == 2 * PAGE then out[4], out[5] = whole(tonumber(fresh[i + 1])), '1' end
  end
end
return out
