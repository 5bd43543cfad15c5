-- relay deletes outbox entries that have been delivered (runtime.Store.Relay).
-- KEYS: meta, outbox
-- ARGV: ..., then the ids of the entries
-- Reply: OK
if #ARGV >= ARGS and redis.call('XDEL', KEYS[2], unpack(ARGV, ARGS)) > 0 then wrote() end
return reply('OK')
