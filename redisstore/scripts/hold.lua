-- hold sets a partition's time right after the server's clock has jumped.
-- KEYS: meta
-- ARGV: ..., by how much it has jumped in ms, the offset that the caller has seen
-- Reply: OK, 1 if it was set right; another caller may have done it before
local off, seen = tonumber(ARGV[ARGS]), tonumber(ARGV[ARGS + 1])
local offset = tonumber(redis.call('HGET', meta, 'offset') or 0)
if offset ~= seen then return reply('OK', 0) end
redis.call('HSET', meta, 'offset', string.format('%d', offset - off))
redis.call('HINCRBY', meta, 'jumps', 1)
return reply('OK', 1)
