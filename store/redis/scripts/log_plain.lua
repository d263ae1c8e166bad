-- Counts of one event each: what log.lua has, and times.lua where events are not remembered.
--: locals
  if columns >= 2 then tags = {unpack_(string.rep('c12', n), packed, at + n)} end
  local since, low, below, high, above, lasts, stamp, gone, asks
  -- How many of the first `to` bytes, six a time, are of times that have left the window.
  local function left_of(times, to)
    local from = 0
    while from < to do
      local mid = (from + to) / 2
      mid = mid - mid % 6
      if unpack_('<I6', times, mid + 1) <= gone then from = mid + 6 else to = mid end
    end
    return from
  end
--: terms
      gone = now - p.length
      if light then
        stamp, lasts = pack_('<I6', now), string.format('%.0f', 2 * p.length + slack)
        asks = most > 250 and most < p.keep
      else
        low = string.format('%.0f', math.max(gone + 1, 1))
        high = string.format('%.0f', now + 60000)
        since, lasts = string.format('%.0f', math.max(now, 1)), string.format('%.0f', p.length + slack)
        below, above = '(' .. low, '(' .. high
      end
--: operation
      if light then
        -- A refused event would have to be taken off again, and that writes the whole string. So for a
        -- long one the length is asked for first.
        local size = asks and call('STRLEN', key) + 6 or call('APPEND', key, stamp)
        local before, left, cut, rest, renews = size - 6, 0, nil, nil, size == 6 or size == 48
        if before > 0 then
          local oldest = call('GETRANGE', key, '0', '47')
          local ahead = false -- somebody's clock was
          if size <= 48 then
            local newest = unpack_('<I6', oldest, before - 5)
            ahead = newest > now
            left = left_of(oldest, before)
            renews = renews or now - now % p.length > newest
          else
            local s, t, u, v, w, x, y, z = unpack_('<I6I6I6I6I6I6I6I6', oldest)
            ahead = s > now + 60000
            if s <= gone then
              left = v > gone and (t > gone and 6 or u > gone and 12 or 18)
                or x > gone and (w > gone and 24 or 30) or y > gone and 36 or z > gone and 42 or 48
            end
            -- Old events are cut off eight at a time, so that most events are only appended.
            if left == 48 then cut = '48' end
            if before > 6 * (p.keep + 48) then cut = before - 6 * (p.keep + 32) end -- SLACK
            if cut then
              rest = call('GETRANGE', key, cut, '-1')
              left = cut + 0
              if left < before and unpack_('<I6', rest) <= gone then
                local more = left_of(rest, before - left)
                left = left + more
                rest = sub(rest, more + 1)
              end
            end
          end
          if ahead then
            if not asks then call('SET', key, call('GETRANGE', key, '0', '-7'), 'PX', lasts) end
            break
          end
        end
        value = (size - left) / 6
        if value > p.keep then value = p.keep end
        if value > most then
          if asks then break end
          if size == 6 then call('DEL', key)
          else call('SET', key, call('GETRANGE', key, left, '-7'), 'PX', lasts) end
          break
        end
        if asks then call('APPEND', key, stamp) end
        if rest then
          call('SET', key, asks and rest .. stamp or rest, 'PX', lasts)
        elseif renews then
          call('PEXPIRE', key, lasts)
        end
        break
      end
      -- In a long log the events that have left are counted, not those that remain: Redis walks through a
      -- small sorted set entry by entry.
      local there = call('ZCARD', key)
      if there > 16 then
        there = there - call('ZCOUNT', key, '-inf', below) - call('ZCOUNT', key, above, '+inf')
      elseif there > 0 then
        there = call('ZCOUNT', key, low, high)
      end
      there = there + 1
      value = math.min(there, p.keep)
      if value > most then break end
      call('ZADD', key, since, tags[i])
      if sweep or there > p.keep + 32 then -- SLACK
        call('ZREMRANGEBYSCORE', key, '-inf', below)
        if there > p.keep + 32 then call('ZREMRANGEBYRANK', key, 0, there - p.keep - 33) end
      end
      call('PEXPIRE', key, lasts)
