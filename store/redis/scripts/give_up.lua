-- An operation has failed that may have begun this key. Where Redis forbids a command (it is renamed, or
-- the ACL lacks it), what was written before it may have no time to live, and would stay for ever.
-- What has one has been complete before.
local function give_up(key, problem)
  local function says(text) return string.find(problem, text, 1, true) end
  local forbidden = says('NOPERM') or says('Unknown Redis command') or says("can't run this command")
    or says('ACL failure')
  if forbidden and key and redis.pcall('PTTL', key) == -1 then redis.pcall('DEL', key) end
end
