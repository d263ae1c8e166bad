-- Plain operations, which nearly all are: one event added for the first time to one window without
-- outcomes, amounts integers. Their keys come first, one each, and ARGV[1] has all of them
-- (plain_calls.cc packs it): how many, how many terms, what is given; the terms that they share;
-- then column by column which terms, if given the event's tag (of the log: its id), the amount.
-- The answer to each is the reading with the event, of which the caller sees whether it was added; or
-- an error's text.
--
-- A script runs from its top with every call, and this one is written for that: a function costs Redis
-- thousands of instructions to make, so the forms are made when an operation needs them, and
-- the loop makes none; nor does it look whether a command has failed: that ends the loop, which then
-- starts again behind the operation. scripts.cc puts what a form does (<form>_plain.lua) in the places
-- marked with its sections' names; it leaves `value` nil where the forms must see to the operation.
-- Terms are `light` where the counter does not remember events.
local packed = ARGV[1]
local n, of_terms, columns = string.byte(packed, 1, 3)
local out, general, clock, micros, doing = {0}, nil, nil, nil, 0

local function each(first)
  local call, sub, unpack_, pack_ = redis.call, string.sub, struct.unpack, struct.pack
  local keys, out = KEYS, out
  local which, tags, found, sweep, slack, now
  local form, bits, metric, window, limit, a, b, c, d, e, given
  local terms, most, cap, light, amounts
  local at = 4 + of_terms * 60
  which = {string.byte(packed, at, at + n - 1)}
--: locals
  if columns % 2 == 1 then amounts = {unpack_('<' .. string.rep('d', n), packed, #packed - 8 * n + 1)} end
  for i = first, n do
    local key, amount, by, of, value = keys[i], 1, '1', which[i], nil
    local raw = found and found[i]
    doing = i
    if amounts then
      amount = amounts[i]
      by = amount
    end
    local changed = of >= 128 -- an operation before it may have changed this key
    if changed then of = of - 128 end
    if of ~= terms then
      terms = of
      form, bits, metric, window, limit, a, b, c, d, e, given =
        unpack_('<BBBBddddddd', packed, 4 + terms * 60)
      light = bits >= 8
      most = bits % 2 == 1 and math.ceil(limit) - 1 or limit -- what it may come to
      cap = math.min(most, 9007199254740992)
      if given >= 0 then
        now, slack, sweep = given, 3601000, true
      else
        if not clock then
          local time = call('TIME')
          micros = tonumber(time[2])
          clock = time[1] * 1000 + math.floor(micros / 1000)
        end
        now, slack, sweep = clock, 1000, micros % 8 == 0 -- at random, one time of eight
      end
      out[1] = now
--: terms
    end
    if changed and found and not light then raw = call('GET', key) end
    repeat
--: operation
    until true
    if not value then
      general = general or make_forms(out, clock)
      value = general.one(form, key, tags and tags[i], amount, given,
        {metric = metric, window = window, limit = limit, inclusive = bits % 2 == 1, remembers = not light,
         a = a, b = b, c = c, d = d, e = e})
    elseif value == true then -- a form that found nothing there could not begin it either
      value = 'WRONGTYPE Operation against a key holding the wrong kind of value'
    end
    out[i + 1] = value
  end
end

local first = 1
while first <= n do
  local done, problem = pcall(each, first)
  if done then break end
  problem = type(problem) == 'table' and (problem.err or '?') or tostring(problem)
  if doing < first then return redis.error_reply(problem) end
  out[doing + 1] = problem
  general = general or make_forms(out, clock)
  general.give_up(KEYS[doing], problem)
  first = doing + 1
end
if ARGV[2] then
  general = general or make_forms(out, clock)
  general.all(2, n, n + 1)
end
return out
