-- What the forms of entries share, which keep each event as a member of a sorted set, by its time: log.lua,
-- and near.lua with a place. A member is the event's id, its amount or member, and where it was.
local ID, PAYLOAD = 12, 8

-- What a list of amounts or members comes to: how many there are, and their sum, their extreme, or 1 if the
-- event's own is among them. Of `distinct`: how many different ones, 0, and which.
local function fold(p, list, o)
  local n, v = #list, 0
  if p.metric == DISTINCT then
    local seen, members, different = {}, {}, 0
    for i = 1, n do
      local member = list[i]
      if not seen[member] then
        seen[member], different = true, different + 1
        members[different] = member
      end
    end
    return different, 0, members
  end
  if p.metric == EXISTS then
    for i = 1, n do if list[i] == o.member then return n, 1 end end
    return n, 0
  end
  if n > 0 and (p.metric == MINIMUM or p.metric == MAXIMUM) then v = unpack_('<d', list[1]) end
  for i = 1, n do
    local a = unpack_('<d', list[i])
    if p.metric == MINIMUM then
      if a < v then v = a end
    elseif p.metric == MAXIMUM then
      if a > v then v = a end
    else
      v = v + a
    end
  end
  return n, v
end

-- The two oldest become one, at the later time and place, so that a sum never undercounts.
local function merge(s, p, two)
  local both = clamp(unpack_('<d', two[1], ID + 1) + unpack_('<d', two[3], ID + 1), p.real)
  call('ZADD', s.key, two[4], sub(two[3], 1, ID) .. pack_('<d', both) .. sub(two[3], ID + PAYLOAD + 1))
  call('ZREM', s.key, two[1], two[3])
end
