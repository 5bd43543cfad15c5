-- adopt accepts that a partition lost writes: all leases become invalid.
-- KEYS: time, meta, leases
-- ARGV: ..., 1 to adopt only if writes were lost and not adopted since, an id of the call
-- Reply: OK, 1 if it was adopted
local lost, id = seq < SEEN, ARGV[ARGS + 1]
if ARGV[ARGS] == '1' then
  if redis.call('HGET', KEYS[2], 'adopted') == id then return reply('OK', 1) end -- the answer was lost
  if not lost then return reply('OK', 0) end
end
if lost then
  seq = SEEN
  redis.call('HINCRBY', KEYS[2], 'losses', 1)
  redis.call('HSET', KEYS[2], 'adopted', id)
end
redis.call('DEL', KEYS[3])
wrote()
return reply('OK', 1)
