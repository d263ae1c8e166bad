-- Runs an operation that looked plain and is not, and answers as plain.lua does.
local function one(form, key, tag, amount, given, p)
  tell_time(given)
  local o = {verb = ADD, id = tag or rep('\0', 12), amount = amount, retry = false}
  if #o.id == 6 then o.id = '\0\0\0\0' .. sub(tag, 1, 2) .. '\0\0' .. sub(tag, 3) end
  p.form, p.key, p.real = forms[form], key, false
  local answer = {}
  local ok, problem = pcall(run, o, {p}, answer)
  if ok then return answer[2] end
  problem = type(problem) == 'table' and (problem.err or '?') or tostring(problem)
  give_up(key, problem)
  return problem
end
return {all = all, one = one, give_up = give_up}
