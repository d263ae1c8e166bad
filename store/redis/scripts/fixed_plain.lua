-- What fixed.lua has, of which an addition that stays in its window writes the total and the tags.
--: locals
  if columns >= 2 then
    tags = {unpack_(string.rep('c6', n), packed, at + n)}
    found = call('MGET', unpack(keys, 1, n))
  end
  local begins, ends, oldest, lasts, field
--: terms
      if window == 6 then -- CALENDAR: what was, what is, what comes
        if now < p.begins then
          begins, ends = p.earlier, p.begins
        elseif now < p.ends then
          begins, ends = p.begins, p.ends
        else
          begins, ends = p.ends, p.later
        end
      else
        begins = window == 2 and now - now % p.length or now -- EVERY, FIRST
        ends = begins + p.length
      end
      -- By a clock that is a unit ahead of the caller's the calendar it sent has ended.
      lasts = math.max(ends - now, 1) + slack
      oldest = window == 3 and now - p.length + 1 or begins
      field = light and string.format('%.0f', window == 2 and begins / p.length or begins)
--: operation
      if light then
        value = call('HINCRBY', key, field, by)
        if value == amount then -- it may have begun a window
          local all, later = call('HGETALL', key), false
          for j = 1, #all, 2 do
            if all[j] ~= field then
              later = later or tonumber(all[j]) > tonumber(field)
              if not later then call('HDEL', key, all[j]) end
            end
          end
          if later then -- by a clock that was ahead
            call('HDEL', key, field)
            value = nil
            break
          end
          call('PEXPIRE', key, lasts)
        end
        if value > cap or amounts and value < -9007199254740992 then
          if value == amount then call('HDEL', key, field) else call('HINCRBY', key, field, 0 - amount) end
          if value > 9007199254740992 or value < -9007199254740992 then value = nil end
        end
        break
      end
      local began, total, rest
      local live = false
      if raw then
        if #raw ~= 40 then break end
        began, total, rest = unpack_('<ddc18', raw)
        live = began >= oldest and began - now <= 60000
      end
      total = (live and total or 0) + amount
      if total > 9007199254740992 or total < -9007199254740992 then break end
      value = total
      if total > most then break end
      if live then -- it ends with the window
        call('SETRANGE', key, '8', pack_('<dc6c18', total, tags[i], rest))
      else
        local text = pack_('<ddc6c18', begins, total, tags[i], string.rep('\0', 18))
        if raw then
          call('SET', key, text, 'PX', lasts)
        elseif not call('SET', key, text, 'PX', lasts, 'NX') then
          value = true
        end
      end
