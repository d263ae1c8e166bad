-- Removes a key that a failed operation may have left without a time to live. If Redis forbids a command (it
-- is renamed, or the ACL lacks it), the key that was written before that command would stay forever.
-- A key with a time to live was complete before, and stays.
local function give_up(key, problem)
  local function says(text) return string.find(problem, text, 1, true) end
  local forbidden = says('NOPERM') or says('Unknown Redis command') or says("can't run this command")
    or says('ACL failure')
  if forbidden and key and redis.pcall('PTTL', key) == -1 then redis.pcall('DEL', key) end
end
