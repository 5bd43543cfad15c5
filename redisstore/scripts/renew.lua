-- renew prolongs leases (store.Store.Renew).
-- KEYS: time, ready, due, then the instances
-- ARGV: ..., lease in ms, then member, epoch and nonce of each
-- Reply: OK, then for each that is still held: {member, 1 if there are unread messages}
-- include record
local indexes = {ready = KEYS[2], due = KEYS[3]}
local lease = tonumber(ARGV[ARGS])

local renewed = {}
for n = 1, #KEYS - 3 do
  local member, epoch, nonce = unpack(ARGV, ARGS + 3 * n - 2, ARGS + 3 * n)
  local r = kept(KEYS[3 + n])
  if r and r.lease ~= 0 and r.epoch == tonumber(epoch) and r.nonce == nonce then
    local index, score = place(r)
    r.lease = now + lease
    redis.call('HSET', KEYS[3 + n], 'k', text(r))
    move(indexes, member, index, score, r)
    renewed[#renewed + 1] = {member, r.mail > r.read and 1 or 0}
  end
end
if #renewed > 0 then wrote() end
return reply('OK', renewed)
