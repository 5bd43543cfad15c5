-- claim takes instances that are ready (store.Store.Claim).
-- KEYS: time, ready, due, then instance and inbox of each candidate
-- ARGV: ..., nonce, lease in ms, then the member of each candidate
-- Reply: OK, then for each that is held by the nonce now: {member, fields and values of its hash, its inbox}
-- When memory is full, only what has begun is taken, a message waits for, or whose time runs.
-- include record
local MAX_REPLY = 262144
local indexes = {ready = KEYS[2], due = KEYS[3]}
local nonce, lease = ARGV[ARGS], tonumber(ARGV[ARGS + 1])

local claimed, size, changed = {}, 0, false
for n = 1, #ARGV - ARGS - 1 do
  local member, instance, inbox = ARGV[ARGS + 1 + n], KEYS[2 + 2 * n], KEYS[3 + 2 * n]
  local r = kept(instance)
  if not r then
    away(indexes, member, instance)
  elseif size < MAX_REPLY then
    local again = r.lease ~= 0 and r.nonce == nonce
    if again or not final(r) and r.lease == 0 and r.ready ~= 0 and (not FULL or r.ready < 0) then
      if not again then
        local index, score = place(r)
        r.epoch, r.nonce, r.lease, r.ready = r.epoch + 1, nonce, now + lease, 0
        if r.status == 'pending' and r.started <= now and (r.deadline == 0 or now < r.deadline) then
          r.status, r.started, r.wake = 'running', now, 0
        end
        if r.wake ~= 0 and r.wake < now then r.wake = now end -- the new owner has its grace from now on
        redis.call('HSET', instance, 'k', text(r))
        move(indexes, member, index, score, r)
        changed = true
      end
      local fields, messages = redis.call('HGETALL', instance), {}
      if r.mail > r.read then messages = redis.call('LRANGE', inbox, 0, -1) end
      for _, field in ipairs(fields) do size = size + #field end
      for _, message in ipairs(messages) do size = size + #message end
      claimed[#claimed + 1] = {member, fields, messages}
    end
  end
end
if changed then wrote() end
return reply('OK', claimed)
