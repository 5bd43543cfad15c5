-- relay deletes outbox entries that have been delivered (store.Store.Relay).
-- KEYS: time, outbox
-- ARGV: ..., then the ids of the entries
-- Reply: OK
local deleted = 0
for from = ARGS, #ARGV, 500 do
  deleted = deleted + redis.call('XDEL', KEYS[2], unpack(ARGV, from, math.min(from + 499, #ARGV)))
end
if deleted > 0 then wrote() end
return reply('OK')
