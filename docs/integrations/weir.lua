-- Asks weir about a request: http-request lua.weir HOST:PORT. Needs HAProxy 2.5 or newer with Lua.
--
-- Sets txn.weir_allowed, and if weir refuses txn.weir_status and txn.weir_retry. Where weir does not answer in time,
-- txn.weir_status is 0, and txn.weir_allowed is false.

local TIMEOUT = 1000 -- ms; weir answers before, also where it delays a request
local COPIED = { "x-weir-verdict", "x-weir-policy", "x-weir-score", "x-weir-request-id" }

core.register_action("weir", { "http-req" }, function(txn, address)
  local headers = txn.http:req_get_headers()
  -- What a client sends of these is not a word of ours; lengths belong to a body that is not sent.
  for _, name in ipairs({ "content-length", "transfer-encoding", "connection", "expect", "upgrade" }) do
    headers[name] = nil
  end
  local scheme = txn.sf:ssl_fc() == "1" and "https" or "http"
  headers["x-original-method"] = { [0] = txn.sf:method() }
  headers["x-original-uri"] = { [0] = txn.sf:url() }
  headers["x-forwarded-proto"] = { [0] = scheme }
  headers["x-weir-timeout-ms"] = { [0] = tostring(TIMEOUT) }
  -- One line, in order: HAProxy's client would send several in any order.
  local hops = ""
  local list, at = headers["x-forwarded-for"] or {}, 0
  while list[at] do
    hops = hops .. list[at] .. ", "
    at = at + 1
  end
  headers["x-forwarded-for"] = { [0] = hops .. txn.sf:src() }

  -- Every spelling: many apps read X_Weir_Verdict as X-Weir-Verdict, some any other mark.
  for name in pairs(headers) do
    if name:gsub("%W", "-"):sub(1, 7) == "x-weir-" then txn.http:req_del_header(name) end
  end
  local answer = core.httpclient():get{
    url = "http://" .. address .. "/forward_auth/haproxy", headers = headers, timeout = TIMEOUT }
  -- Where there is no answer, HAProxy makes up a 503 or 504, without a date.
  local answered = answer and answer.headers and answer.headers["date"]
  local status = answered and answer.status or 0
  txn:set_var("txn.weir_status", status)
  txn:set_var("txn.weir_allowed", status == 200)
  local retry = answered and answer.headers["retry-after"]
  if retry then txn:set_var("txn.weir_retry", retry[0]) end
  if status ~= 200 then return end
  for _, name in ipairs(COPIED) do
    local value = answer.headers[name]
    if value then txn.http:req_set_header(name, value[0]) end
  end
end, 1)
