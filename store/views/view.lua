-- One view that all replicas share. A replica appends what it has counted to a log, and reads what
-- others have appended. From time to time one replica folds the old part of the log into bases, one
-- for each part of the window (a pane): a replica that starts reads bases and log. What a pane has is
-- its base, and of the log what came after it. What is in the log is of no concern here.
--
-- KEYS  of the ops `exchange`, `old` and `cut`: head (hash): 'e' the epoch, 's' the last sequence,
--       't' the sequence up to which the log is folded, 'b' bytes of the log, 'w' bytes of the bases
--       that the last fold wrote, 'f' until when somebody folds, 'o' .. origin the number of that
--       replica's last piece, and each piece of the log under its sequence; where the store has lost
--       its memory, 'p' until when the replica 'm' fills it again: it alone appends meanwhile. Then
--       a sorted set of those sequences, with one member '' so that it exists; then a sorted set of
--       the replicas by their last call.
--       Of `bases` and `write`: bases (hashes): 'u' the sequence up to which the log is in it, and
--       chunks by number from 1.
-- ARGV  1: the op. Times are this server's, in ms; sequences are its microseconds where possible:
--       after a fail-over that lost some, new ones are still larger than most that anybody has seen.
local call, floor, max, format = redis.call, math.floor, math.max, string.format
local HOUR, SILENT, GONE, LEASE = 3600000, 5000, 60000, 10000
local FOLD_LEAST, LOG_MOST = 262144, 67108864
local op = ARGV[1]
local clock = call('TIME')
local now = clock[1] * 1000 + floor(clock[2] / 1000)
local out = {now}

-- Appends up to `most` pieces of the log, as sequence and bytes; those of `own` without bytes.
local function pieces(first, last, most, own)
  local found = call('ZRANGEBYSCORE', KEYS[2], first, last, 'LIMIT', 0, most)
  out[#out + 1] = #found
  if #found == 0 then return end
  local all = call('HMGET', KEYS[1], unpack(found))
  for i = 1, #found do
    local piece = all[i] or ''
    if own ~= '' and string.sub(piece, 1, 8) == own then piece = '' end
    out[#out + 1], out[#out + 2] = tonumber(found[i]), piece
  end
end

-- 2: the epoch that the caller knows, 3: one if there is none, 4: its origin (8 bytes), 5: the last
-- sequence that it has read (-1: it wants none), 6: how many pieces it takes, 7: its origin if its own
-- pieces are of no interest, 8: ms until all of it goes, 9: how many bases it could fold (0: none).
-- Then number and piece, in order.
-- Answer: now, epoch, folded up to, last sequence, the number of its last piece there (-1: no room
-- for one of these), 1 if it is to fold (2: to wait for another that fills the store), replicas that
-- called of late, replicas that have fallen silent; then the pieces.
if op == 'exchange' then
  local head, order, who = KEYS[1], KEYS[2], KEYS[3]
  local h = {}
  if call('EXISTS', head, order, who) == 3 then
    h = call('HMGET', head, 'e', 's', 't', 'b', 'w', 'f', 'o' .. ARGV[4], 'p', 'm')
  end
  local known = h[1] and h[1] == ARGV[2]
  if not h[1] then
    call('DEL', head, order, who)
    local fill = ARGV[2] ~= '' and now + LEASE or 0
    h = {ARGV[3], 0, 0, 0, 0, 0, 0, fill, ARGV[4]}
    call('HMSET', head, 'e', ARGV[3], 's', 0, 't', 0, 'b', 0, 'w', 0, 'f', 0, 'p', fill, 'm', ARGV[4])
    call('ZADD', order, 0, '')
  end
  local last, folded, bytes = tonumber(h[2]), tonumber(h[3]), tonumber(h[4])
  local number, full = tonumber(h[7] or 0), false
  local waits = tonumber(h[8] or 0) > now and h[9] ~= ARGV[4]
  if known and #ARGV > 9 and not waits then
    local write = {}
    local marks = {}
    for i = 10, #ARGV, 2 do
      local n, piece = tonumber(ARGV[i]), ARGV[i + 1]
      if n > number then
        if bytes + #piece > LOG_MOST then
          full = true
          break
        end
        last = max(last + 1, clock[1] * 1000000 + clock[2])
        number, bytes = n, bytes + #piece
        local name = format('%.0f', last)
        write[#write + 1], write[#write + 2] = name, piece
        marks[#marks + 1], marks[#marks + 2] = name, name
      end
    end
    if #write > 0 then
      call('HMSET', head, 's', format('%.0f', last), 'b', bytes, 'o' .. ARGV[4], number, unpack(write))
      call('ZADD', order, unpack(marks))
    end
  end
  call('ZADD', who, now, ARGV[4])
  local fold = waits and 2 or 0
  if known and not waits and ARGV[9] ~= '0' and tonumber(h[6]) < now
    and bytes > max(FOLD_LEAST, tonumber(h[5])) then
    call('HSET', head, 'f', now + LEASE)
    fold = 1
    local gone = call('ZRANGEBYSCORE', who, 0, now - HOUR, 'LIMIT', 0, 100)
    for i = 1, #gone do
      call('ZREM', who, gone[i])
      call('HDEL', head, 'o' .. gone[i])
    end
  end
  local alive = call('ZCOUNT', who, now - SILENT, '+inf')
  out[2], out[3], out[4], out[5], out[6] = h[1], folded, last, full and -1 or number, fold
  out[7], out[8] = alive, call('ZCOUNT', who, now - GONE, '(' .. format('%.0f', now - SILENT))
  local from = tonumber(ARGV[5])
  if known and from >= folded then
    pieces('(' .. ARGV[5], '+inf', tonumber(ARGV[6]), ARGV[7])
  else
    out[9] = 0
  end
  for i = 1, 3 do call('PEXPIRE', KEYS[i], ARGV[8]) end
  return out
end

-- 2: a sequence, 3: an age in ms, 4: how many. The pieces after that sequence that are older.
if op == 'old' then
  pieces('(' .. ARGV[2], format('%.0f', clock[1] * 1000000 + clock[2] - ARGV[3] * 1000),
    tonumber(ARGV[4]), '')
  return out
end

-- 2: bytes, 3: bytes at most. Of each base, until it is more than the first: its 'u' (0: there is none) and its
-- chunks. A base that alone is more than the second is cut: its greatest keys come first. Answer: now, of
-- how many; of each: 'u', how many chunks, the chunks.
if op == 'bases' then
  local bytes, done = 0, 0
  out[2] = 0
  while done < #KEYS and bytes < tonumber(ARGV[2]) do
    local names = {'u'}
    for i = 1, call('HLEN', KEYS[done + 1]) - 1 do names[i + 1] = i end
    local all = call('HMGET', KEYS[done + 1], unpack(names))
    local size = 0
    for i = 2, #all do size = size + #(all[i] or '') end
    if done > 0 and bytes + size > tonumber(ARGV[3]) then break end
    done = done + 1
    local at = #out + 1
    out[at], out[at + 1] = tonumber(all[1] or 0), 0
    for i = 2, #all do
      local chunk = all[i] or ''
      bytes = bytes + #chunk
      if bytes > tonumber(ARGV[3]) then break end
      out[at + 1], out[at + i] = i - 1, chunk
    end
  end
  out[2] = done
  return out
end

-- 2: the 'u' that it has, 3: the new one, 4: ms until it goes, then its chunks. Answer: now, 1 if it
-- was written, 0 if another replica has written it in the meantime.
if op == 'write' then
  local has = call('HGET', KEYS[1], 'u') or '0'
  if has ~= ARGV[2] then
    out[2] = 0
    return out
  end
  local write = {'u', ARGV[3]}
  for i = 5, #ARGV do write[#write + 1], write[#write + 2] = i - 4, ARGV[i] end
  call('DEL', KEYS[1])
  call('HMSET', KEYS[1], unpack(write))
  call('PEXPIRE', KEYS[1], ARGV[4])
  out[2] = 1
  return out
end

-- 2: the epoch, then origin and number: the caller has written bases, in which the pieces of these
-- replicas up to these numbers are.
if op == 'filled' then
  if call('HGET', KEYS[1], 'e') == ARGV[2] then
    local write = {'p', 0}
    for i = 3, #ARGV, 2 do write[#write + 1], write[#write + 2] = 'o' .. ARGV[i], ARGV[i + 1] end
    call('HMSET', KEYS[1], unpack(write))
  end
  return out
end

-- cut. 2: the epoch, 3: the sequence up to which the log is in bases, 4: bytes of those. The log
-- begins behind it.
local h = call('HMGET', KEYS[1], 'e', 't')
if h[1] and h[1] == ARGV[2] and tonumber(h[2]) < tonumber(ARGV[3]) then
  local gone = call('ZRANGEBYSCORE', KEYS[2], '(0', ARGV[3])
  local bytes = 0
  for i = 1, #gone do
    bytes = bytes + call('HSTRLEN', KEYS[1], gone[i])
    call('HDEL', KEYS[1], gone[i])
    call('ZREM', KEYS[2], gone[i])
  end
  call('HINCRBY', KEYS[1], 'b', -bytes)
  call('HMSET', KEYS[1], 't', ARGV[3], 'w', ARGV[4], 'f', 0)
end
return out
