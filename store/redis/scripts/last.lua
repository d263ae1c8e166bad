-- The latest data, oldest first: the beginning of the window, then {ms, id, length, datum}. Some more than one
-- are kept, so that events can be taken back.
local KEPT = 4
local function store_last(s, p)
  if #s.rows == 0 then
    call('DEL', s.key)
    return
  end
  local out = {pack_('<d', s.b)}
  for i = 1, #s.rows do
    local r = s.rows[i]
    out[#out + 1] = pack_('<dc12I2', r.ms, r.id, #r.datum) .. r.datum
  end
  call('SET', s.key, table.concat(out), 'PX', ttl(s.e - now))
end

forms[FORM_LAST] = {
  open = function(o, p, key)
    local s = {key = key, rows = {}, b = now}
    local raw = call('GET', key)
    local began
    if raw then began = unpack_('<d', raw) end
    local aligned = p.window == EVERY or p.window == CALENDAR
    local first_live = true
    if p.window == EVERY_FIRST then
      s.b, s.e, first_live = current(p, began)
    elseif aligned then
      s.b, s.e = window(p)
    else
      s.e = now + (p.length > 0 and p.length or FOREVER)
    end
    if not raw or not first_live then return s end
    local at = 9
    while at < #raw do
      local ms, id, length, next_at = unpack_('<dc12I2', raw, at)
      local datum = sub(raw, next_at, next_at + length - 1)
      at = next_at + length
      local live = p.window == EVERY_FIRST
      if aligned then
        live = ms >= s.b
      elseif not live then
        live = p.length == 0 or now - ms < p.length
      end
      if live and ms - now <= AHEAD then s.rows[#s.rows + 1] = {ms = ms, id = id, datum = datum} end
    end
    if p.window == EVERY_FIRST and #s.rows == 0 then s.b, s.e = now, now + p.length end
    return s
  end,
  had = function(s, o)
    for i = 1, #s.rows do if s.rows[i].id == o.id then return true end end
    return false
  end,
  value = function(s, o, p)
    local itself = (o.verb == 1 or o.verb == 5) and o.id -- sent again, it is there already
    for i = #s.rows, 1, -1 do
      if s.rows[i].id ~= itself then
        local datum = s.rows[i].datum
        return datum ~= '' and datum or nil
      end
    end
    return nil
  end,
  add = function(s, o, p, at)
    if at ~= now then
      local aligned = p.window == EVERY or p.window == CALENDAR
      if aligned and (at < s.b or at >= s.e) then return false end
      if not aligned and p.length > 0 and now - at >= p.length then return false end
    end
    if #s.rows == 0 and p.window == EVERY_FIRST then s.b, s.e = at, at + p.length end
    if p.window == EVERY_FIRST then at = max(at, s.b) end
    local i = #s.rows
    while i > 0 and s.rows[i].ms > at do i = i - 1 end
    table.insert(s.rows, i + 1, {ms = at, id = o.id, datum = o.datum})
    if #s.rows > KEPT then table.remove(s.rows, 1) end
    store_last(s, p)
    return true
  end,
  take_back = function(s, o, p)
    for i = #s.rows, 1, -1 do
      if s.rows[i].id == o.id then
        table.remove(s.rows, i)
        store_last(s, p)
        return
      end
    end
  end,
}
