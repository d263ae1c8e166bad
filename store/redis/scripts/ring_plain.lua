-- What ring.lua has, of which an addition to the newest bucket writes the total and the tags.
--: locals
  if columns >= 2 then
    tags = {unpack_(string.rep('c6', n), packed, at + n)}
    found = call('MGET', unpack(keys, 1, n))
  end
  local HEAD = 48
  local stamp, shape, size, lasts, lasting, in_bucket, field
--: terms
      stamp, lasts = math.floor(now / p.quantum), (p.span + 1) * p.quantum + slack
      shape, size, in_bucket = '<I2I4', 6, 4294967295
      if metric == 1 then shape, size, in_bucket = '<I2d', 10, math.huge end -- SUM
      if light then field, lasting = string.format('%.0f', stamp), string.format('%.0f', lasts) end
--: operation
      if light then
        value = call('HINCRBY', key, field, by)
        if value == amount then -- it may have begun a bucket, which goes on from the total so far
          local all, name, total, older = call('HGETALL', key), nil, nil, nil
          for j = 1, #all, 2 do
            if all[j] == 'b' then
              older = all[j + 1]
            elseif all[j] ~= field then
              name, total = all[j], all[j + 1] + 0
            end
          end
          if name then
            value = nil
            local newest = name + 0
            local base, closed = newest, 0
            if older and #older > 14 then base, closed = unpack_('<I6d', older) else older = nil end
            if newest > stamp or newest < stamp - p.span or stamp - base > 60000 then
              call('HDEL', key, field)
              break
            end
            local last, from, oldest = math.min(total - closed, in_bucket), 15, stamp - p.span - base
            total = closed + last
            while older and from < #older do
              local entry, gone = unpack_(shape, older, from)
              if entry >= oldest then break end
              total = total - gone
              from = from + size
            end
            local sum = total + amount
            local beyond = sum > 9007199254740992 or sum < -9007199254740992
            if not beyond then value = sum end
            if beyond or sum > most then
              call('HDEL', key, field)
              break
            end
            call('HSET', key, field, sum, 'b', pack_('<I6d', base, total) ..
              (older and sub(older, from) or '') .. pack_(shape, newest - base, last))
            call('HDEL', key, name)
          elseif value > most and not older then
            call('HDEL', key, field)
            break
          end
          call('PEXPIRE', key, lasting)
          if name then break end
        end
        if value > cap or amounts and value < -9007199254740992 then
          call('HINCRBY', key, field, 0 - amount)
          if value > 9007199254740992 or value < -9007199254740992 then value = nil end
        end
        break
      end
      if not raw then
        value = amount
        if value > most then break end
        if not call('SET', key, pack_('<I6I2dc6c18d', stamp, 0, value, tags[i], string.rep('\0', 18), 0) ..
          pack_(shape, 0, math.min(amount, in_bucket)), 'PX', lasts, 'NX') then value = true end
        break
      end
      local length = #raw
      if length < HEAD + size then break end
      local base, newest, total, rest = unpack_('<I6I2dc18', raw)
      local after = total + amount
      if after > 9007199254740992 or after < -9007199254740992 then break end
      if base + newest == stamp then -- its time is that of its bucket's first event
        value = after
        if value > most then break end
        call('SETRANGE', key, '8', pack_('<dc6c18', value, tags[i], rest))
        break
      end
      -- Another bucket begins, and old ones leave.
      local first, gone = base + newest, nil
      if first > stamp or stamp - base > 60000 or first < stamp - p.span then break end
      local closed = unpack_('<d', raw, HEAD - 7)
      local last = math.min(total - closed, in_bucket)
      local from, oldest = HEAD + 1, stamp - p.span - base
      total = closed + last
      while true do
        first, gone = unpack_(shape, raw, from)
        if first >= oldest then break end
        total = total - gone
        from = from + size
      end
      value = total + amount
      if value > most then break end
      call('SET', key, pack_('<I6I2dc6c18d', base, stamp - base, value, tags[i], rest, total) ..
        sub(raw, from, length - size) .. pack_(shape, newest, last) ..
        pack_(shape, stamp - base, math.min(amount, in_bucket)), 'PX', lasts)
