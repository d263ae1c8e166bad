-- What all forms use. KEYS: behind those of plain operations (plain.lua) the keys of all operations in
-- turn (a part with outcomes has two: its count and its reservations). ARGV: likewise one packed
-- string an operation (codec.cc writes it).
-- Answer: the store's time, then for each operation a flag (0 refused, 1 done, -1 and an error's
-- text) and what codec.cc reads.
--
-- Rules: what a form writes first is a command that Redis refuses without memory (7.0 asks only at a
-- script's first write); every key gets a time to live; integers are exact up to 2^53 and stop there.
local find = string.find
local TAGS, TAG_BYTES = 4, 6
local NO_TAGS = rep('\0', TAGS * TAG_BYTES)
local forms = {}

local function clamp(v, real)
  if real then return v end
  if v > MOST then return MOST end
  if v < -MOST then return -MOST end
  return v
end

-- The last few events that a string has counted: an operation that is sent again finds itself.
-- (The low bytes of the event's origin and number.)
local function tag_of(o) return sub(o.id, 5, 6) .. sub(o.id, 9, 12) end
local function tagged(tags, o) return find(tags, tag_of(o), 1, true) ~= nil end
local function with_tag(tags, o) return tag_of(o) .. sub(tags, 1, (TAGS - 1) * TAG_BYTES) end
local function without_tag(tags, o)
  local at = find(tags, tag_of(o), 1, true)
  if not at then return tags end
  return sub(tags, 1, at - 1) .. sub(tags, at + TAG_BYTES) .. rep('\0', TAG_BYTES)
end

-- The current window of a grid: the epoch's, or the calendar's as the caller's zone has it.
local function window(p)
  if p.window == EVERY then
    local b = now - now % p.length
    return b, b + p.length
  end
  if now < p.begins then return p.earlier, p.begins end
  if now < p.ends then return p.begins, p.ends end
  return p.ends, p.later
end

-- Which window `began` is in: its beginning and end if it counts now, else the new one and false.
local function current(p, began)
  local b, e
  if p.window == EVERY_FIRST then
    if began and began - now <= AHEAD and now - began < p.length then return began, began + p.length, true end
    return now, now + p.length, false
  end
  b, e = window(p)
  if not began or began - now > AHEAD or began < b then return b, e, false end
  return began, e + (began - b), true
end

-- Whether an event of that time belongs to the window [b, e).
local function covers(p, b, e, at)
  if p.window == EVERY_FIRST then return now - at < p.length end
  return at >= b and at < e
end
